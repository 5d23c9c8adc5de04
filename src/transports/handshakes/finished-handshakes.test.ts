import { describe, it } from 'bun:test';
import assert from 'node:assert/strict';
import {
  FinishedHandshakes,
  NOTED_PER_SUSPECT_MAX,
  SUSPECTS_MAX,
  SUSPICION_MS,
} from './finished-handshakes.ts';

function bookkeeping(webSocketPorts: (address: string) => Iterable<number> = () => []) {
  const clock = { nowMs: 0 };
  return { clock, finished: new FinishedHandshakes(webSocketPorts, () => clock.nowMs) };
}

describe('finished handshakes', () => {
  it('are not watched until somebody asks', () => {
    const { finished } = bookkeeping();
    assert.equal(finished.watching, false);
    finished.noteRequest('10.0.0.1', 1);
    assert.deepEqual(finished.suspect('10.0.0.1'), []);
    assert.equal(finished.watching, true);
  });

  it('are the WebSockets, and the requests since the first ask', () => {
    const { finished } = bookkeeping((address) => (address === '10.0.0.1' ? [7, 8] : []));
    assert.deepEqual(finished.suspect('10.0.0.1'), [7, 8]);
    finished.noteRequest('10.0.0.1', 1);
    finished.noteRequest('10.0.0.1', 2);
    finished.noteRequest('10.0.0.1', 1);
    finished.noteRequest('10.0.0.2', 3);
    assert.deepEqual(finished.suspect('10.0.0.1'), [7, 8, 2, 1]);
    assert.deepEqual(finished.suspect('10.0.0.2'), []);
  });

  it('are found whether Bun writes an IPv4 address mapped or not', () => {
    const { finished } = bookkeeping();
    finished.suspect('10.0.0.1');
    finished.noteRequest('::ffff:10.0.0.1', 1);
    assert.deepEqual(finished.suspect('10.0.0.1'), [1]);
  });

  it('are not watched any more a minute after the last ask', () => {
    const { clock, finished } = bookkeeping();
    finished.suspect('10.0.0.1');
    clock.nowMs = SUSPICION_MS - 1;
    finished.noteRequest('10.0.0.9', 1);
    assert.equal(finished.watching, true);
    clock.nowMs = SUSPICION_MS;
    finished.noteRequest('10.0.0.9', 1);
    assert.equal(finished.watching, false);
  });

  it('are forgotten a minute after the last request, however often somebody asks', () => {
    const { clock, finished } = bookkeeping();
    finished.suspect('10.0.0.1');
    finished.noteRequest('10.0.0.1', 1);
    clock.nowMs = SUSPICION_MS / 2;
    finished.noteRequest('10.0.0.1', 2);
    assert.deepEqual(finished.suspect('10.0.0.1'), [1, 2]);
    clock.nowMs = SUSPICION_MS;
    assert.deepEqual(finished.suspect('10.0.0.1'), [2]);
  });

  it('are bounded in addresses and in connections of one', () => {
    const { finished } = bookkeeping();
    for (let port = 0; port <= NOTED_PER_SUSPECT_MAX; port++) {
      if (port === 0) finished.suspect('first');
      finished.noteRequest('first', port);
    }
    const noted = finished.suspect('first');
    assert.equal(noted.length, NOTED_PER_SUSPECT_MAX);
    assert.equal(noted[0], 1);

    for (let other = 0; other < SUSPECTS_MAX; other++) finished.suspect(`other ${other}`);
    finished.noteRequest('first', 1);
    assert.deepEqual(finished.suspect('first'), []);
  });
});
