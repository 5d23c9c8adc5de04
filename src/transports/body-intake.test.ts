import { describe, expect, it } from 'bun:test';
import { eventually } from '../../testing/eventually.ts';
import { announcedLength, BodyIntake, BodyRefusal, type BodySettings } from './body-intake.ts';

const SETTINGS: BodySettings = {
  requestBytes: 1000,
  unfinishedBytes: 2000,
  bodyBytesPerSecond: 100,
};

/** A request whose body arrives when the test says so. `length`: announced; otherwise it comes in chunks. */
function upload(length?: number) {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
  });
  const headers = length === undefined ? undefined : { 'content-length': String(length) };
  const request = new Request('http://x/', { method: 'POST', body, ...(headers && { headers }) });
  return {
    request,
    arrive: (bytes: number) => controller?.enqueue(new Uint8Array(bytes)),
    end: () => controller?.close(),
    breakOff: () => controller?.error(new Error('gone')),
  };
}

function stage(settings: Partial<BodySettings> = {}) {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const intake = new BodyIntake({ ...SETTINGS, ...settings }, clock);
  return { clock, intake };
}

const read = async (intake: BodyIntake, request: Request, owner: string) =>
  await intake.read({ request, length: announcedLength(request), owner }, (body) => body);

const problemOf = (read: Uint8Array | BodyRefusal) =>
  read instanceof BodyRefusal ? read.problem : `${read.length} bytes`;

describe('a body whose request may not begin yet', () => {
  const waiting: (() => void)[] = [];
  const turns = { isOpen: false, begin: (_: string, run: () => void) => void waiting.push(run) };
  const sent = async (intake: BodyIntake, owner: string, bytes: number) => {
    const { request, arrive, end } = upload(bytes);
    arrive(bytes);
    end();
    return problemOf(await read(intake, request, owner));
  };
  const arrived = (count: number) =>
    eventually(
      () => waiting.length,
      (length) => length === count,
    );

  it('counts as unfinished, is never too slow, and gives way to other apps', async () => {
    const clock = { nowMs: 0, now: () => clock.nowMs };
    const intake = new BodyIntake(SETTINGS, clock, turns);
    const first = sent(intake, 'loud', 900);
    const second = sent(intake, 'loud', 900);
    await arrived(2);
    expect(intake.reservedBytes).toBe(1800);
    clock.nowMs = 1_000_000;
    intake.check();
    expect(intake.reservedBytes).toBe(1800);
    const other = sent(intake, 'quiet', 800);
    await arrived(3);
    expect(intake.reservedBytes).toBe(1700);
    expect(await second).toBe('overloaded');
    for (const run of waiting) run();
    expect([await first, await other]).toEqual(['900 bytes', '800 bytes']);
    expect(intake.reservedBytes).toBe(0);
  });
});

describe('a body', () => {
  it('is read whole, in whatever pieces it comes', async () => {
    const { intake } = stage();
    for (const length of [30, undefined]) {
      const { request, arrive, end } = upload(length);
      const body = read(intake, request, 'app');
      for (let piece = 0; piece < 3; piece++) arrive(10);
      end();
      expect(problemOf(await body)).toBe('30 bytes');
    }
    expect(intake.reservedBytes).toBe(0);
  });

  it('is empty if there is none', async () => {
    const { intake } = stage();
    const request = new Request('http://x/', { method: 'POST' });
    expect(problemOf(await read(intake, request, 'app'))).toBe('0 bytes');
  });

  it('is refused by its announced length, or as soon as it is too long', async () => {
    const { intake } = stage();
    expect(intake.refuseLength(1000)).toBeUndefined();
    expect(intake.refuseLength(1001)?.problem).toBe('request-too-large');
    const { request, arrive } = upload();
    const body = read(intake, request, 'app');
    arrive(600);
    arrive(600);
    expect(problemOf(await body)).toBe('request-too-large');
    expect(intake.reservedBytes).toBe(0);
  });

  it('that ends early is refused, and its memory is free again', async () => {
    const { intake } = stage();
    const { request, arrive, breakOff } = upload();
    const body = read(intake, request, 'app');
    arrive(100);
    breakOff();
    expect(problemOf(await body)).toBe('invalid');
    expect(intake.reservedBytes).toBe(0);
  });

  it('is refused if it arrives too slowly, and not before', async () => {
    const { clock, intake } = stage();
    const slow = read(intake, upload(500).request, 'app');
    const chunked = upload();
    const inChunks = read(intake, chunked.request, 'app');
    // Five seconds of grace, and five more for 500 bytes.
    clock.nowMs = 4_999;
    intake.check();
    expect(intake.reservedBytes).toBe(500);
    clock.nowMs = 5_000;
    intake.check();
    expect(problemOf(await inChunks)).toBe('timeout');
    clock.nowMs = 9_999;
    intake.check();
    expect(intake.reservedBytes).toBe(500);
    clock.nowMs = 10_000;
    intake.check();
    expect(problemOf(await slow)).toBe('timeout');
    expect(intake.reservedBytes).toBe(0);
  });

  it('may take for ever if there is no minimum speed', () => {
    const { clock, intake } = stage({ bodyBytesPerSecond: 0 });
    void read(intake, upload(500).request, 'app');
    clock.nowMs = 3_600_000;
    intake.check();
    expect(intake.reservedBytes).toBe(500);
  });
});

describe('the memory for bodies', () => {
  it('is taken from the newest body of the app with the most for another app', async () => {
    const { intake } = stage();
    const first = upload(900);
    const kept = read(intake, first.request, 'greedy');
    const lost = read(intake, upload(900).request, 'greedy');
    const honest = upload(500);
    const body = read(intake, honest.request, 'honest');
    expect(problemOf(await lost)).toBe('overloaded');
    honest.arrive(500);
    honest.end();
    expect(problemOf(await body)).toBe('500 bytes');
    first.arrive(900);
    first.end();
    expect(problemOf(await kept)).toBe('900 bytes');
    expect(intake.reservedBytes).toBe(0);
  });

  it('is refused to the app with the most', async () => {
    const { intake } = stage();
    for (let body = 0; body < 2; body++) void read(intake, upload(900).request, 'greedy');
    expect(problemOf(await read(intake, upload(900).request, 'greedy'))).toBe('overloaded');
    expect(intake.reservedBytes).toBe(1800);
  });

  it('is counted of bodies in chunks as they arrive', async () => {
    const { intake } = stage();
    const uploads = [upload(), upload(), upload()];
    const reads = uploads.map(({ request }) => read(intake, request, 'greedy'));
    for (const { arrive } of uploads) arrive(900);
    expect(problemOf(await Promise.race(reads))).toBe('overloaded');
    expect(intake.reservedBytes).toBe(1800);
  });
});
