import { createHash } from 'node:crypto';

/** Derives a UUID of version 5 from a name within a namespace: always the same one. Source: RFC 9562, §5.5. */
export function nameUuid(namespace: string, name: readonly (string | number)[]): string {
  const hash = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(JSON.stringify(name))
    .digest();
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const digits = hash.toString('hex', 0, 16);
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
