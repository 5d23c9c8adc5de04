import { createHash } from 'node:crypto';

/**
 * Gives the UUID of a name among those of another UUID: the same each time, on every server. It is one of
 * version 5. Source: RFC 9562, §5.5.
 */
export function nameUuid(space: string, name: readonly (string | number)[]): string {
  const hash = createHash('sha1')
    .update(Buffer.from(space.replaceAll('-', ''), 'hex'))
    .update(JSON.stringify(name))
    .digest();
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const digits = hash.toString('hex', 0, 16);
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
