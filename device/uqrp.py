"""Reads records of uqrp over DNS, for MicroPython and Python. docs/DEVICES.md has the results and what a device does with each.

    result, record = uqrp.read("192.0.2.53", 53, "pump-3.enabled.plant.v1")
    if result == uqrp.OK and record.data == b"off":
        stop()

Anybody on the path can forge an answer without a signature: what switches a machine is signed, see `signed`.
SPDX-License-Identifier: Apache-2.0
"""

import binascii

OK = "OK"  # a record
EMPTY = "EMPTY"  # no such record, or it has expired
REFUSED = "REFUSED"  # the token is missing, wrong or over, or the namespace does not exist
FAILED = "FAILED"  # the name server cannot answer now, or does not understand the name
SERVICE = "SERVICE"  # a public service answers with an error envelope
REPLY = "REPLY"  # a damaged DNS message
FORMAT = "FORMAT"  # the answer is no envelope of version svc1, or its data do not decode
OTHER = "OTHER"  # no reply to this query: listen on until the deadline
TRUNCATED = "TRUNCATED"  # too long for UDP: send the same query over TCP
UNSIGNED = "UNSIGNED"  # the record has no signature
FORGED = "FORGED"  # none of the pinned keys has signed this payload for this record
OLDER = "OLDER"  # signed, but before a record that the device has seen
TIMEOUT = "TIMEOUT"  # `read` got no reply


class Record:
    """data: bytes, None for answers that are fields only. fields: the octets before the data, for `field`.
    dns_ttl: how long resolvers may keep the answer, ttl_hint: what the writer suggests, both in seconds."""

    def __init__(self, data, fields, dns_ttl, ttl_hint):
        self.data = data
        self.fields = fields
        self.dns_ttl = dns_ttl
        self.ttl_hint = ttl_hint

    def field(self, name):
        """A field such as "f", or "val" of a public service, as it was sent; None when there is none."""
        return _field(self.fields, name.encode())


def query(id, key, token="", zone="uqrp.net", size=1232):
    """The query for a record. id: 16 random bits, new for each attempt. size: octets of the longest reply over UDP; 0 asks without
    EDNS, for at most 512. Raises ValueError when a name is not possible."""
    labels = ["get"] + (["auth-" + token] if token else []) + key.split(".") + zone.split(".")
    name = b""
    for label in labels:
        octets = label.encode()
        if not 1 <= len(octets) <= 63:
            raise ValueError("a label has 1 to 63 octets")
        name += bytes([len(octets)]) + octets
    if len(name) > 254:
        raise ValueError("a name has at most 253 characters")
    head = bytes([id >> 8 & 255, id & 255, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1 if size else 0])
    # TXT, IN; then OPT (RFC 6891).
    edns = bytes([0, 0, 41, size >> 8, size & 255, 0, 0, 0, 0, 0, 0]) if size else b""
    return head + name + b"\0\0\x10\0\x01" + edns


def reply(query, reply):
    """Reads a reply to `query`. Any octets may come in. Returns (result, record), the record None unless the result is OK."""
    end = 12
    while query[end]:
        end += query[end] + 1
    end += 5
    if len(reply) < end or reply[:2] != query[:2]:
        return OTHER, None
    # A reply to an ordinary query, with one question: ours, without case.
    if reply[2] & 0xF8 != 0x80 or reply[4:6] != b"\0\x01" or bytes(reply[12:end]).lower() != query[12:end].lower():
        return OTHER, None
    if reply[2] & 2:
        return TRUNCATED, None
    code = reply[3] & 15
    if code:
        return {5: REFUSED, 3: EMPTY}.get(code, FAILED), None
    at = end
    for _ in range(reply[6] << 8 | reply[7]):
        at, ours = _owner(reply, at, query)
        if at == 0 or len(reply) - at < 10:
            return REPLY, None
        kind = bytes(reply[at : at + 4])
        dns_ttl = int.from_bytes(reply[at + 4 : at + 8], "big")
        length = reply[at + 8] << 8 | reply[at + 9]
        at += 10
        if length > len(reply) - at:
            return REPLY, None
        if ours and kind == b"\0\x10\0\x01":
            text = _joined(reply[at : at + length])
            return (REPLY, None) if text is None else _envelope(text, dns_ttl)
        at += length
    return EMPTY, None


def _owner(reply, at, query):
    """Compares the name at `at` with the one of the query. Returns (the place after it, 0 when it is damaged; whether it is the same).
    A chain of pointers ends after 16, so that no reply can keep the device busy."""
    after = 0
    asked = 12
    same = True
    pointers = 0
    while at < len(reply):
        length = reply[at]
        if length >= 0xC0:
            pointers += 1
            if len(reply) - at < 2 or pointers > 16:
                return 0, False
            after = after or at + 2
            if not same:
                return after, False
            at = (length & 63) << 8 | reply[at + 1]
            continue
        if length > 63 or length >= len(reply) - at:
            return 0, False
        end = length + 1
        same = same and bytes(reply[at : at + end]).lower() == query[asked : asked + end].lower()
        at += end
        asked += end
        if length == 0:
            return after or at, same
    return 0, False


def _joined(rdata):
    """The character strings of a TXT record, joined; None when one is longer than the record."""
    text = b""
    at = 0
    while at < len(rdata):
        end = at + 1 + rdata[at]
        if end > len(rdata):
            return None
        text += bytes(rdata[at + 1 : end])
        at = end
    return text


def _field(fields, name):
    found = None
    for field in fields.split(b";"):
        if field.startswith(name + b"="):
            found = field[len(name) + 1 :]
    return found


def _envelope(text, dns_ttl):
    if not text.startswith(b"v="):
        return FORMAT, None
    at = 0
    data = None
    while at < len(text):
        # `d` is last and goes to the end: it may hold semicolons.
        if text[at : at + 2] == b"d=":
            data = text[at + 2 :]
            break
        end = text.find(b";", at)
        end = len(text) if end < 0 else end
        if text.find(b"=", at, end) <= at:
            return FORMAT, None
        at = end + 1
    fields = text[:at]
    if _field(fields, b"v") != b"svc1":
        return FORMAT, None
    if _field(fields, b"t") == b"error" or _field(fields, b"s") != b"ok":
        return SERVICE, None
    if data is not None:
        encoding = _field(fields, b"e")
        if encoding == b"b64":
            data = _base64(data)
        elif encoding != b"plain":
            data = None
        if data is None:
            return FORMAT, None
    hint = _field(fields, b"ttl") or b""
    return OK, Record(data, fields, dns_ttl, int(hint) if hint.isdigit() and len(hint) < 11 else 0)


def _base64(text):
    """Strict Base64 (RFC 4648, section 4); None for anything that is not what an encoder writes."""
    try:
        data = binascii.a2b_base64(text)
    except Exception:  # ValueError; the binascii of micropython-lib raises Exception itself.
        return None
    return data if binascii.b2a_base64(data)[:-1] == text else None


def signed(data, key, keys, latest, verify):
    """Checks that `data` of a record was signed for `key`. Returns (result, payload, latest).
    keys: public keys of 32 octets; two, so that the signer's key can be changed. latest: the time of the newest record seen, 6 octets,
    all 0 at first: store what comes back. verify(signature, key, message): Ed25519, from the program; True for a good signature."""
    if data is None or len(data) < 79 or data[0] != 3:
        return UNSIGNED, None, latest
    time = data[9:15]
    if time < latest:
        return OLDER, None, latest
    message = b"uqrp-signed-3\n" + key.lower().encode() + b"\n" + data[:15] + data[79:]
    for public in keys:
        if verify(data[15:79], public, message) is True:
            return OK, data[79:], time
    return FORGED, None, latest


def read(server, port, key, token="", zone="uqrp.net", waits=(1, 2, 4, 4, 4), accept=None):
    """Asks over UDP, and over TCP for long records. Each attempt has a new id and port, and waits so many seconds.
    accept(record): called with each record that comes; the first for which it returns true ends the wait. A program that reads signed
    records checks them there, so that a forged reply that comes first is passed over. Without it, the first reply counts.
    Returns (result, record); the result of the last reply, or TIMEOUT, when nothing was accepted."""
    import os
    import socket

    address = socket.getaddrinfo(server, port)[0][-1]
    result = TIMEOUT
    for wait in waits:
        random = os.urandom(2)
        asked = query(random[0] << 8 | random[1], key, token, zone)
        result, record, done = _attempt(socket, address, asked, wait, accept, result)
        if done:
            return result, record
    return result, None


def _clock():
    """Milliseconds, and their difference. time.time() of a small board counts whole seconds."""
    import time

    if hasattr(time, "ticks_ms"):
        return time.ticks_ms, time.ticks_diff
    return lambda: int(time.monotonic() * 1000), lambda a, b: a - b


class _Deadline:
    """What is left of a wait, over all that it waits for: packets that trickle in do not make it longer."""

    def __init__(self, seconds):
        self.now, self.diff = _clock()
        self.began = self.now()
        self.length = int(seconds * 1000)

    def set_on(self, sock):
        left = self.length - self.diff(self.now(), self.began)
        if left <= 0:
            raise OSError("the wait is over")
        sock.settimeout(left / 1000)


def _attempt(socket, address, asked, wait, accept, result):
    """One attempt, of `wait` seconds. Returns (result, record, whether it ends the read)."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    deadline = _Deadline(wait)
    may_stream = True
    try:
        sock.connect(address)
        sock.send(asked)
        while True:
            deadline.set_on(sock)
            found, record = reply(asked, sock.recv(1232))
            if found == TRUNCATED and may_stream:
                # Once: whoever forges such replies must not make the device open one connection after the other.
                may_stream = False
                found, record = _stream(socket, address, asked)
            if found == OTHER:
                continue
            result = found
            if accept is None or (record is not None and accept(record)):
                return result, record, True
    except OSError:
        return result, None, False
    finally:
        sock.close()


def _stream(socket, address, asked):
    """The same query over TCP, after two octets of length. OTHER when no reply comes within 4 seconds."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    deadline = _Deadline(4)
    try:
        deadline.set_on(sock)
        sock.connect(address)
        out = bytes([len(asked) >> 8, len(asked) & 255]) + asked
        while out:
            out = out[sock.send(out) :]
        head = _exactly(sock, 2, deadline)
        return reply(asked, _exactly(sock, head[0] << 8 | head[1], deadline))
    except OSError:
        return OTHER, None
    finally:
        sock.close()


def _exactly(sock, size, deadline):
    got = b""
    while len(got) < size:
        deadline.set_on(sock)
        more = sock.recv(size - len(got))
        if not more:
            raise OSError("the connection ended")
        got += more
    return got
