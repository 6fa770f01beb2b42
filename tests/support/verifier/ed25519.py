"""RFC 8032: verifies an Ed25519 signature, in plain integers."""

from hashlib import sha512

type Point = tuple[int, int, int, int]

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)


def _x_of(y: int, sign: int) -> int | None:
    """Recover x from y and the lowest bit of x; section 5.1.3."""
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    if square == 0:
        return None if sign else 0
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_ONE % P
    if (x * x - square) % P:
        return None
    return x if x & 1 == sign else P - x


def _point(data: bytes) -> Point | None:
    number = int.from_bytes(data, "little")
    y = number & (1 << 255) - 1
    x = _x_of(y, number >> 255)
    return None if x is None else (x, y, 1, x * y % P)


def _add(p: Point, q: Point) -> Point:
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def _times(factor: int, point: Point) -> Point:
    result: Point = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            result = _add(result, point)
        point = _add(point, point)
        factor >>= 1
    return result


def _equal(p: Point, q: Point) -> bool:
    return (p[0] * q[2] - q[0] * p[2]) % P == 0 and (p[1] * q[2] - q[1] * p[2]) % P == 0


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE = _point(BASE_Y.to_bytes(32, "little"))


def is_weak(public: bytes) -> bool:
    """Say whether anybody can sign under a key: its order divides 8, or it is not spelled as it has to be."""
    y = int.from_bytes(public, "little") & (1 << 255) - 1
    if y >= P or y in (1, P - 1):
        return True
    point = _point(public)
    return point is not None and _equal(_times(8, point), (0, 1, 1, 0))


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Say whether the signature is the key's over the message; section 5.1.7."""
    if len(public) != 32 or len(signature) != 64 or BASE is None:
        return False
    key, commitment = _point(public), _point(signature[:32])
    response = int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or response >= ORDER:
        return False
    challenge = int.from_bytes(sha512(signature[:32] + public + message).digest(), "little") % ORDER
    return _equal(_times(response, BASE), _add(commitment, _times(challenge, key)))
