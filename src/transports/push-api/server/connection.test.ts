import { expect, it } from 'bun:test';
import type { Socket } from 'bun';
import { pushBounds } from '../bounds.ts';
import { PushConnection, type PushConnectionOwner } from './connection.ts';

/** A connection whose socket takes so many bytes. */
function connectionTaking(bytes: number) {
  const done: string[] = [];
  let left = bytes;
  const socket = {
    remoteAddress: '192.0.2.1',
    write(some: Buffer) {
      const taken = Math.min(left, some.length);
      left -= taken;
      return taken;
    },
    pause: () => done.push('pause'),
    resume: () => done.push('resume'),
    end: () => done.push('end'),
    terminate: () => done.push('terminate'),
  };
  const owner: PushConnectionOwner = {
    host: '127.0.0.1',
    bounds: pushBounds,
    isClosing: false,
    workChanged: () => undefined,
    mayBegin: () => true,
    onRequest: () => {
      throw new Error('There is no request');
    },
    onFault: (fault, connection) => void connection.endWith(fault, 0),
    onAdvance: () => undefined,
  };
  return {
    connection: new PushConnection(socket as unknown as Socket<PushConnection>, owner, true),
    done,
  };
}

it('closes after the answer to what is no request', () => {
  const { connection, done } = connectionTaking(100);
  connection.received(Buffer.from('garbage'));
  expect(done).toEqual(['end']);
});

it('ends if the client does not read that answer', () => {
  const { connection, done } = connectionTaking(0);
  connection.received(Buffer.from('garbage'));
  const nowMs = performance.now();
  connection.checkTime(nowMs + pushBounds.unreadAnswerMs - 1_000);
  expect(done).toEqual([]);
  connection.checkTime(nowMs + pushBounds.unreadAnswerMs + 1_000);
  expect(done).toEqual(['terminate']);
});
