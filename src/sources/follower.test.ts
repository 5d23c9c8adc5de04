import { expect, it } from 'bun:test';
import { FakeTime } from '../../testing/fake-time.ts';
import type { LogFields } from '../runtime/ports.ts';
import { Follower } from './follower.ts';
import type { SourceOutbox } from './ports.ts';
import { type OutboxResult, type OutboxRow, type RowKind, resultOf, SENT } from './row.ts';

/** An outbox in memory, with the rules of a real one, and its failures. */
class FakeOutbox implements SourceOutbox {
  rows: OutboxRow[] = [];
  readonly failedRows: string[] = [];
  isElsewhere = false;
  fault: string | undefined;
  looks = 0;
  tidied = 0;

  write(id: number, kind: RowKind = 'event'): void {
    this.rows.push({ id: BigInt(id), kind, key: `k${id}`, body: `row ${id}` });
  }

  async look(
    { after, kinds }: Parameters<SourceOutbox['look']>[0],
    send: Parameters<SourceOutbox['look']>[1],
  ): ReturnType<SourceOutbox['look']> {
    this.looks++;
    if (this.fault !== undefined) throw new Error(this.fault);
    if (this.isElsewhere) return 'followed-elsewhere';
    const rows = this.rows.filter(({ id, kind }) => id > after && kinds.includes(kind));
    const results = await send(rows);
    const done = rows.filter((_, place) => /sent|failed/.test(results[place]?.result ?? ''));
    this.rows = this.rows.filter((row) => !done.includes(row));
    return { rows, results, isFull: false, running: [], readMs: 1 };
  }

  async figures() {
    return { lagSeconds: 1, waiting: this.rows.length, failed: 0, lastFailure: undefined };
  }

  async tidy() {
    this.tidied++;
  }

  async [Symbol.asyncDispose]() {
    this.rows = [];
  }
}

function scene(answer: (row: OutboxRow) => OutboxResult = () => SENT) {
  const timers = new FakeTime({ turns: 20 });
  const outbox = new FakeOutbox();
  const sent: string[] = [];
  const counts: Record<string, number> = {};
  const lines: (LogFields & { readonly line: string })[] = [];
  const note = (line: string, fields: LogFields = {}) => void lines.push({ line, ...fields });
  const follower = new Follower({
    name: 'sources[0]',
    outbox,
    pollMs: 100,
    async send(rows) {
      sent.push(...rows.map(({ id }) => String(id)));
      return rows.map(answer);
    },
    counted(result, rows) {
      counts[result] = (counts[result] ?? 0) + rows;
    },
    timers,
    log: { debug: note, info: note, warn: note, error: note },
  });
  follower.start();
  return { timers, outbox, sent, counts, lines, follower };
}

it('sends what was committed, counts it, and knows the figures', async () => {
  const { timers, outbox, sent, counts, follower } = scene();
  outbox.write(1);
  outbox.write(2, 'publish');
  await timers.advance(100);
  expect(sent).toEqual(['1', '2']);
  expect(counts).toEqual({ event: 1, publish: 1 });
  expect(follower.shown()).toMatchObject({
    state: 'following',
    why: '',
    figures: { lagSeconds: 1 },
  });
});

it('waits 0.2 s after a failure, twice as long after each further one, and at most 5 s; the log has one line', async () => {
  const { timers, outbox, lines, follower } = scene();
  outbox.fault = 'no connection';
  await timers.advance(100);
  expect(follower.shown()).toMatchObject({ state: 'away', why: 'no connection' });
  const looks = [];
  for (let n = 0; n < 30; n++) {
    const before = outbox.looks;
    await timers.advance(1_000);
    looks.push(outbox.looks - before);
  }
  // At 0.2, 0.6, 1.4, 3, 6.2 s, and then every 5 s; it looks from 0.1 s on.
  expect(looks.slice(0, 7)).toEqual([2, 1, 1, 0, 0, 0, 1]);
  expect(looks.slice(7).reduce((sum, one) => sum + one)).toBe(4);
  expect(lines.map(({ line }) => line)).toEqual(['A source cannot be followed']);
  outbox.fault = undefined;
  await timers.advance(5_000);
  expect(lines.map(({ line }) => line).slice(1)).toEqual(['A source is there again']);
  expect(follower.shown()).toMatchObject({ state: 'following', why: '' });
});

it('marks nothing that may be sent later, leaves others of its kind, and sends publishes meanwhile', async () => {
  let isDisabled = true;
  const { timers, outbox, sent, counts, follower, lines } = scene(({ kind }) =>
    isDisabled && kind === 'event' ? resultOf(403, 'The app is disabled') : SENT,
  );
  outbox.write(1);
  await timers.advance(1);
  outbox.write(2, 'publish');
  await timers.advance(1_000);
  expect(sent).toEqual(['1', '2']);
  expect(counts).toEqual({ publish: 1 });
  outbox.write(3, 'publish');
  await timers.advance(1_000);
  expect(follower.shown().why).toBe('403 The app is disabled');
  expect(lines).toMatchObject([{ line: 'Rows of a source wait', why: '403 The app is disabled' }]);
  isDisabled = false;
  await timers.advance(7_900);
  expect(sent).toEqual(['1', '2', '3']);
  await timers.advance(400);
  expect(sent).toEqual(['1', '2', '3', '1']);
  expect(follower.shown().why).toBe('');
});

it('stops, so that another server follows', async () => {
  const { timers, outbox, follower } = scene();
  await timers.advance(1_000);
  await follower.stop();
  const { looks } = outbox;
  await timers.advance(10_000);
  expect(outbox.looks).toBe(looks);
  expect(follower.shown().state).toBe('stopped');
});

it('waits while another server follows, which alone removes failed rows', async () => {
  const { timers, outbox, follower } = scene();
  await timers.advance(1);
  outbox.isElsewhere = true;
  outbox.tidied = 0;
  await timers.advance(120_000);
  expect(follower.shown().state).toBe('waiting');
  expect(outbox.tidied).toBe(0);
  outbox.isElsewhere = false;
  await timers.advance(60_000);
  expect(outbox.tidied).toBeGreaterThan(0);
});
