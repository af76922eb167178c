// Go's checksum database as a reader of our transparency log: it opens our checkpoint, checks our proofs, and makes the same proofs from
// our tiles. test/ci/transparency-go.ts runs it in a folder with `checkpoint`, `vkey`, `cases.json` and `tile/`, and compares what it prints.
package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type testCase struct {
	Index, Old             int64
	Leaf                   []byte
	OldRoot                []byte
	Inclusion, Consistency [][]byte
}

type tiles struct{}

func (tiles) Height() int { return 8 }

func (tiles) ReadTiles(list []tlog.Tile) ([][]byte, error) {
	var data [][]byte
	for _, tile := range list {
		// Without the height, which tlog-tiles does not have in its paths.
		octets, err := os.ReadFile(strings.Replace(tile.Path(), "tile/8/", "tile/", 1))
		if err != nil {
			return nil, err
		}
		data = append(data, octets)
	}
	return data, nil
}

func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func hashOf(octets []byte) (hash tlog.Hash) {
	copy(hash[:], octets)
	return
}

func hashesOf(list [][]byte) (hashes []tlog.Hash) {
	for _, octets := range list {
		hashes = append(hashes, hashOf(octets))
	}
	return
}

func textOf(hashes []tlog.Hash) []string {
	list := []string{}
	for _, hash := range hashes {
		list = append(list, base64.StdEncoding.EncodeToString(hash[:]))
	}
	return list
}

func main() {
	vkey := string(must(os.ReadFile("vkey")))
	opened := must(note.Open(must(os.ReadFile("checkpoint")), note.VerifierList(must(note.NewVerifier(vkey)))))
	lines := strings.Split(opened.Text, "\n")
	size := must(strconv.ParseInt(lines[1], 10, 64))
	root := must(tlog.ParseHash(lines[2]))
	var cases []testCase
	if err := json.Unmarshal(must(os.ReadFile("cases.json")), &cases); err != nil {
		log.Fatal(err)
	}
	// The reader refuses tiles that do not lead to the root.
	reader := tlog.TileHashReader(tlog.Tree{N: size, Hash: root}, tiles{})
	proofs := []map[string][]string{}
	for _, one := range cases {
		if err := tlog.CheckRecord(hashesOf(one.Inclusion), size, root, one.Index, tlog.RecordHash(one.Leaf)); err != nil {
			log.Fatalf("inclusion of %d in %d: %v", one.Index, size, err)
		}
		if err := tlog.CheckTree(hashesOf(one.Consistency), size, root, one.Old, hashOf(one.OldRoot)); err != nil {
			log.Fatalf("consistency of %d with %d: %v", one.Old, size, err)
		}
		proofs = append(proofs, map[string][]string{
			"inclusion":   textOf(must(tlog.ProveRecord(size, one.Index, reader))),
			"consistency": textOf(must(tlog.ProveTree(size, one.Old, reader))),
		})
	}
	secret, public, err := note.GenerateKey(rand.Reader, lines[0])
	if err != nil {
		log.Fatal(err)
	}
	signed := must(note.Sign(&note.Note{Text: opened.Text}, must(note.NewSigner(secret))))
	printed := map[string]any{
		"signers": len(opened.Sigs), "unknown": len(opened.UnverifiedSigs), "proofs": proofs,
		"vkey": public, "note": string(signed),
	}
	fmt.Println(string(must(json.Marshal(printed))))
}
