import { describe, it } from 'bun:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { addressText, plainAddress } from './remote-address.ts';

describe('a remote address', () => {
  it('is written as RFC 5952 has it', () => {
    const groups = (...values: number[]) => values.flatMap((value) => [value >>> 8, value & 0xff]);
    const v6 = (...values: number[]) => addressText(groups(...values));
    assert.equal(addressText([192, 168, 1, 2]), '192.168.1.2');
    assert.equal(v6(0, 0, 0, 0, 0, 0, 0, 0), '::');
    assert.equal(v6(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1), '2001:db8:0:1::1');
    assert.equal(v6(0x2001, 0xdb8, 0, 0, 1, 0, 0, 1), '2001:db8::1:0:0:1');
    assert.equal(v6(0x2001, 0xdb8, 0, 1, 1, 1, 1, 1), '2001:db8:0:1:1:1:1:1');
    assert.equal(v6(0, 0, 0, 0, 0, 0xffff, 0xc0a8, 0x0102), '192.168.1.2');
  });

  it('is the same however Bun writes it', () => {
    assert.equal(plainAddress('192.168.1.2'), '192.168.1.2');
    assert.equal(plainAddress('::ffff:192.168.1.2'), '192.168.1.2');
    assert.equal(plainAddress('2001:0db8:0:0:0:0:0:1'), '2001:db8::1');
    assert.equal(plainAddress('no:address'), 'no:address');
  });

  it('stays the same when it is made plain again', () => {
    const bytes = (length: number) =>
      fc.array(fc.oneof(fc.constantFrom(0, 255), fc.nat(255)), {
        minLength: length,
        maxLength: length,
      });
    fc.assert(
      fc.property(fc.oneof(bytes(4), bytes(16)), (address) => {
        const text = addressText(address);
        return plainAddress(text) === text;
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => typeof plainAddress(text) === 'string'));
  });
});
