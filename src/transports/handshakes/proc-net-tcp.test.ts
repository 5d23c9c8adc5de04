import { describe, it } from 'bun:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseOpenConnections } from './proc-net-tcp.ts';

// As Linux 6.18 printed them, with other ports and addresses put in.
const tcp = `\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1771 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1678 1 00000000f706f841 100 0 0 10 0
   1: 0100007F:1771 0201A8C0:BF60 01 00000000:00000011 00:00000000 00000000     0        0 76369 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:1771 0201A8C0:BF61 01 00000000:00000000 02:000000A7 00000000  1000        0 4294967290 2 00000000c8a1d7a2 20 4 30 10 -1
   3: 0100007F:1771 0201A8C0:BF62 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0000000000000000 20 4 30 10 -1
   4: 0100007F:1771 0201A8C0:BF63 06 00000000:00000000 03:00001690 00000000     0        0 0 3 0000000000000000
   5: 0100007F:1771 0201A8C0:BF64 08 00000000:00000000 00:00000000 00000000     0        0 76370 1 0000000000000000 20 4 30 10 -1
12345: 0100007F:BF60 0201A8C0:1771 01 00000000:00000000 00:00000000 00000000     0        0 76371 1 0000000000000000 20 4 30 10 -1
12346: 0100007F:1772 FEFFFFFF:FFFF 01 00000000:00000000 00:00000000 00000000     0        0 76372 1 0000000000000000 20 4 30 10 -1
`;

const tcp6 = `\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:1771 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 6100 1 00000000a102cc96 100 0 0 10 0
   1: 0000000000000000FFFF00000100007F:1771 0000000000000000FFFF00000201A8C0:BF60 01 00000000:00000000 00:00000000 00000000     0        0 6101 1 0000000000000000 20 4 30 10 -1
   2: B80D0120000000000000000001000000:1771 B80D0120000000000000010001000000:0050 01 00000000:00000000 00:00000000 00000000     0        0 6102 1 0000000000000000 20 4 30 10 -1
   3: 00000000000000000000000001000000:1771 00000000000000000000000001000000:0051 01 00000000:00000000 00:00000000 00000000     0        0 6103 1 0000000000000000 20 4 30 10 -1
`;

describe('the table of connections', () => {
  it('tells the accepted, established connections to our ports', () => {
    assert.deepEqual(parseOpenConnections(tcp, new Set([6001])), [
      { localPort: 6001, remoteAddress: '192.168.1.2', remotePort: 48992, inode: 76369 },
      { localPort: 6001, remoteAddress: '192.168.1.2', remotePort: 48993, inode: 4294967290 },
    ]);
  });

  it('tells apart several ports of ours', () => {
    const ports = parseOpenConnections(tcp, new Set([6001, 6002])).map((each) => each.localPort);
    assert.deepEqual(ports, [6001, 6001, 6002]);
  });

  it('reads an address whose first byte is above 127', () => {
    assert.deepEqual(parseOpenConnections(tcp, new Set([6002])), [
      { localPort: 6002, remoteAddress: '255.255.255.254', remotePort: 65535, inode: 76372 },
    ]);
  });

  it('reads IPv6 addresses, and mapped IPv4 addresses as IPv4', () => {
    assert.deepEqual(parseOpenConnections(tcp6, new Set([6001])), [
      { localPort: 6001, remoteAddress: '192.168.1.2', remotePort: 48992, inode: 6101 },
      { localPort: 6001, remoteAddress: '2001:db8::1:0:0:1', remotePort: 80, inode: 6102 },
      { localPort: 6001, remoteAddress: '::1', remotePort: 81, inode: 6103 },
    ]);
  });

  it('skips lines that are cut off or no rows at all', () => {
    const row = tcp.split('\n')[2] ?? '';
    const ports = new Set([6001]);
    const beforeInodeEnds = row.indexOf('76369') + '76369'.length;
    assert.equal(parseOpenConnections(row, ports).length, 1);
    assert.deepEqual(parseOpenConnections(row.slice(0, beforeInodeEnds), ports), []);
    assert.deepEqual(parseOpenConnections('', ports), []);
    assert.deepEqual(parseOpenConnections(`x${row}`, ports), []);
  });

  it('never throws, whatever it is given', () => {
    const ports = new Set([6001]);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) =>
        Array.isArray(parseOpenConnections(text, ports)),
      ),
    );
    // The same with a piece of the real thing overwritten, which gets further.
    const real = tcp + tcp6;
    fc.assert(
      fc.property(fc.nat(real.length), fc.nat(40), fc.string(), (at, cut, text) => {
        const broken = real.slice(0, at) + text + real.slice(at + cut);
        return parseOpenConnections(broken, ports).every(
          ({ inode, remotePort }) => inode > 0 && remotePort >= 0 && remotePort <= 65535,
        );
      }),
    );
  });
});
