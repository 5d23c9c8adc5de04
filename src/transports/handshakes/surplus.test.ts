import { describe, it } from 'bun:test';
import assert from 'node:assert/strict';
import { crowdsOf, newestBeyond } from './surplus.ts';

const connection = (remoteAddress: string, inode: number) => ({
  localPort: 6001,
  remoteAddress,
  remotePort: 40_000 + inode,
  inode,
});

describe('what is over the limit', () => {
  it('is counted per address', () => {
    const connections = [1, 2, 3].flatMap((inode) => [
      connection('10.0.0.1', inode),
      ...(inode < 3 ? [connection('10.0.0.2', 10 + inode)] : []),
    ]);
    const crowds = crowdsOf(connections, 2);
    assert.deepEqual(
      crowds.map(({ remoteAddress, connections }) => [remoteAddress, connections.length]),
      [['10.0.0.1', 3]],
    );
  });

  it('does not count a connection twice that the kernel lists twice', () => {
    const twice = [1, 2, 1, 2].map((inode) => connection('10.0.0.1', inode));
    assert.deepEqual(crowdsOf(twice, 2), []);
  });

  it('is the newest by the kernel’s clock, and by inode within one step of it', () => {
    const waiting = [
      { quietMs: 4, inode: 9 },
      { quietMs: 8, inode: 30 },
      { quietMs: 4, inode: 7 },
      { quietMs: 0, inode: 2 },
    ];
    assert.deepEqual(newestBeyond(2, waiting), [
      { quietMs: 4, inode: 9 },
      { quietMs: 0, inode: 2 },
    ]);
    assert.deepEqual(newestBeyond(4, waiting), []);
  });
});
