import { expect, it } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { processorMs } from '../../testing/processor-time.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { becomes } from '../failure/store-trouble.ts';

/** Addresses of attackers. On Linux, all of 127.0.0.0/8 is local. */
const ATTACKERS = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6', '127.0.0.7'];

/** Connections per address, more than one address may have. */
const CONNECTIONS = 250;

const WRONG = 'GET /api/v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n\r\n';
const BODY = 'POST /api/v1/apps HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n';
const HALF = 'GET /api/v1/apps HTTP/1.1\r\nHost: x\r\n';

/**
 * Sends requests one by one, as an operator does; returns the median of the processor time that the server takes before it
 * answers. Milliseconds.
 */
async function operate(server: Fanfare, rounds: number): Promise<number> {
  const { adminPort, adminPassword } = server;
  const took: number[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const path of ['/healthz', '/readyz', '/api/v1/apps', '/api/v1/webhooks']) {
      const before = processorMs(server);
      const answer = await fetch(`http://127.0.0.1:${adminPort}${path}`, {
        headers: { authorization: `Bearer ${adminPassword}`, connection: 'close' },
      });
      await answer.arrayBuffer();
      expect([path, answer.status]).toEqual([path, 200]);
      took.push(processorMs(server) - before);
    }
  }
  return took.toSorted((a, b) => a - b)[took.length >> 1] ?? Number.NaN;
}

it.if(process.platform === 'linux')(
  'strangers with wrong passwords, half requests and unread bodies do not shut out the operator',
  async () => {
    await using server = await startFanfare();
    await becomes(server, /^200/, async () => undefined);

    let attacking = true;
    let answers = 0;
    const sockets = new Set<Socket>();
    const attack = (localAddress: string, what: string) => {
      const socket = connect({ host: '127.0.0.1', port: server.adminPort, localAddress });
      sockets.add(socket);
      socket.on('data', () => {
        answers += 1;
        socket.write(what);
      });
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        if (attacking) setImmediate(attack, localAddress, what);
      });
      socket.write(what);
    };
    for (const address of ATTACKERS) {
      for (let n = 0; n < CONNECTIONS; n++) attack(address, [WRONG, BODY, HALF][n % 3] ?? '');
    }
    while (answers < 300) await operate(server, 1);
    const attackedMs = await operate(server, 4);
    attacking = false;
    for (const socket of sockets) socket.destroy();

    // It takes about 30 ms. Without an end for what strangers begin, it would answer hundreds of them first.
    expect(attackedMs).toBeLessThan(500);
    expect(server.output.stderr.split('\n').length).toBeLessThan(200);
    await operate(server, 1);
  },
);
