"""A second implementation of docs/ENCRYPTION.md, for the vectors in docs/vectors. It prints how many it has checked.

python3 test/clients/vectors.py docs/vectors
"""

import hashlib
import json
import sys
from pathlib import Path

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


class Fault(Exception):
    pass


def derive(secret):
    octets = HKDF(algorithm=hashes.SHA256(), length=40, salt=None, info=b"uqrp-encryption-2").derive(secret)
    return octets[:32], octets[32:].hex()


def not_of_form(value):
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return Fault("unknown_form")
    is_control = lambda code: (code < 32 and code not in (9, 10, 13)) or 127 <= code < 160
    return Fault("unknown_form" if any(is_control(ord(c)) for c in text) else "plain")


def head_of(form, key_id, time):
    return bytes([form]) + bytes.fromhex(key_id) + time.to_bytes(6, "big")


def encrypt(secret, record_key, time, nonce, plaintext):
    aes, key_id = derive(secret)
    head = head_of(2, key_id, time)
    return head + nonce + AESGCM(aes).encrypt(nonce, plaintext, head + record_key.lower().encode())


def decrypt(secrets, record_key, value):
    if value[:1] == b"\1":
        for secret in secrets:
            try:
                return AESGCM(secret).decrypt(value[1:13], value[13:], record_key.lower().encode()), None
            except (InvalidTag, ValueError):
                pass
        raise Fault("damaged")
    if value[:1] == b"\3":
        raise Fault("unknown_form")
    if value[:1] != b"\2":
        raise not_of_form(value)
    if len(value) < 43:
        raise Fault("damaged")
    keys = {key_id: aes for aes, key_id in map(derive, secrets)}
    aes = keys.get(value[1:9].hex())
    if aes is None:
        raise Fault("no_key")
    try:
        plaintext = AESGCM(aes).decrypt(value[15:27], value[27:], value[:15] + record_key.lower().encode())
    except InvalidTag:
        raise Fault("damaged")
    return plaintext, int.from_bytes(value[9:15], "big")


def signed_text(record_key, head, payload):
    return b"uqrp-signed-3\n" + record_key.lower().encode() + b"\n" + head + payload


def key_id_of(public):
    return hashlib.sha256(public).hexdigest()[:16]


def sign(seed, record_key, time, payload):
    key = Ed25519PrivateKey.from_private_bytes(seed)
    raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    head = head_of(3, key_id_of(raw), time)
    return head + key.sign(signed_text(record_key, head, payload)) + payload


def verify(publics, record_key, value):
    if value[:1] in (b"\1", b"\2"):
        raise Fault("plain")
    if value[:1] != b"\3":
        raise not_of_form(value)
    if len(value) < 79:
        raise Fault("damaged")
    public = {key_id_of(one): one for one in publics}.get(value[1:9].hex())
    if public is None:
        raise Fault("no_key")
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(value[15:79], signed_text(record_key, value[:15], value[79:]))
    except InvalidSignature:
        raise Fault("damaged")
    return value[79:], int.from_bytes(value[9:15], "big")


def result_of(open_value, keys, record_key, value):
    try:
        return open_value(keys, record_key, value)
    except Fault as fault:
        return str(fault)


checked = 0


def equal(name, given, expected):
    global checked
    checked += 1
    if given != expected:
        sys.exit(f"{name}: {given!r} in place of {expected!r}")


def run(vectors, secret_name, make, made, open_value, opened, content):
    keys = {key["id"]: bytes.fromhex(key[secret_name]) for key in vectors["keys"]}
    for one in vectors[made]:
        value = bytes.fromhex(one["value"])
        plain = bytes.fromhex(one[content])
        equal(one["name"], make(one), value)
        everyone = list(keys.values())
        equal(one["name"], open_value(everyone, one["record_key"], value), (plain, one["time"]))
        for at in range(len(value)):
            changed = value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]
            got = result_of(open_value, everyone, one["record_key"], changed)
            equal(f"{one['name']}, octet {at} changed", isinstance(got, str), True)
    for one in vectors[opened]:
        got = result_of(open_value, [keys[i] for i in one["key_ids"]], one["record_key"], bytes.fromhex(one["value"]))
        want = one["fault"] if "fault" in one else (bytes.fromhex(one[content]), one["time"])
        equal(one["name"], got, want)
    for one in vectors["sequences"]:
        latest = None
        for step in one["steps"]:
            ids = [keys[i] for i in one["key_ids"]]
            got = result_of(open_value, ids, one["record_key"], bytes.fromhex(step["value"]))
            if not isinstance(got, str):
                time = got[1]
                late = latest is not None and (time or 0) < latest
                if not late and time is not None:
                    latest = time
                got = "rolled_back" if late else "ok"
            equal(one["name"], got, step["result"])


folder = Path(sys.argv[1])
encryption = json.loads((folder / "encryption.json").read_text())
signatures = json.loads((folder / "signatures.json").read_text())
secrets = {key["id"]: bytes.fromhex(key["secret"]) for key in encryption["keys"]}
seeds = {key["id"]: bytes.fromhex(key["seed"]) for key in signatures["keys"]}
for key in encryption["keys"]:
    equal("id of a key", derive(bytes.fromhex(key["secret"]))[1], key["id"])
for key in signatures["keys"]:
    equal("id of a public key", key_id_of(bytes.fromhex(key["public_key"])), key["id"])
run(
    encryption,
    "secret",
    lambda one: encrypt(
        secrets[one["key_id"]],
        one["record_key"],
        one["time"],
        bytes.fromhex(one["nonce"]),
        bytes.fromhex(one["plaintext"]),
    ),
    "encrypt",
    decrypt,
    "open",
    "plaintext",
)
run(
    signatures,
    "public_key",
    lambda one: sign(seeds[one["key_id"]], one["record_key"], one["time"], bytes.fromhex(one["payload"])),
    "sign",
    verify,
    "verify",
    "payload",
)
print(f"{checked} checks")
