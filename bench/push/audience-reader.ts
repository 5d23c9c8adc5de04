/** Reads one audience in a process of its own, and prints what it took: `planning.ts` starts it. */
import type { SQL } from 'bun';
import { audiencePages } from '../../src/push/audience.ts';
import type { Recipient } from '../../src/push/model/device.ts';
import { type Database, openDatabase } from '../../src/stores/database/database.ts';
import { StoredAudience } from '../../src/stores/push/devices/audience-source.ts';
import type { AudienceQuestion } from './audience-questions.ts';
import { watchLoop } from './loop-stall.ts';

/** Devices in one page, of either way to read. */
const PAGE_DEVICES = 1000;

/** Pages after which memory is looked at: looking costs as much as reading some devices. */
const PAGES_BETWEEN_LOOKS = 8;

export interface ReaderTask {
  readonly url: string;
  /** `bare`: so many rows of one table, by a statement for each page and nothing else. */
  readonly how: 'fanfare' | 'bare';
  readonly question: AudienceQuestion;
}

/** What reading one audience took. */
export interface Reading {
  readonly seconds: number;
  /** The longest time that the event loop stood still. */
  readonly stallMs: number;
  /** Memory of the process: before, after half of the devices, at most, and after. */
  readonly rssBytes: {
    readonly start: number;
    readonly half: number;
    readonly most: number;
    readonly end: number;
  };
}

type Page = readonly Pick<Recipient, 'number' | 'token'>[];

async function* fanfarePages(database: Database, question: AudienceQuestion): AsyncGenerator<Page> {
  const { instance, target } = question;
  const query = { instance, target, after: 0, pageDevices: PAGE_DEVICES };
  for await (const page of audiencePages(new StoredAudience(database), query)) {
    yield page.recipients;
  }
}

async function* barePages(sql: SQL, { devices }: AudienceQuestion): AsyncGenerator<Page> {
  let after = 0;
  for (let left = devices; left > 0; ) {
    const most = Math.min(left, PAGE_DEVICES);
    const rows: { number: number | string; token: string }[] = await sql`
      SELECT number, token FROM devices WHERE number > ${after} ORDER BY number LIMIT ${most}`;
    const page = rows.map(({ number, token }) => ({ number: Number(number), token }));
    after = page.at(-1)?.number ?? after;
    left -= page.length === 0 ? left : page.length;
    yield page;
  }
}

async function read({ url, how, question }: ReaderTask): Promise<Reading> {
  await using database = await openDatabase(url);
  const rss = () => process.memoryUsage.rss();
  const start = rss();
  let [devices, pages, last, half, most] = [0, 0, 0, start, start];

  const stopWatching = watchLoop();
  const startMs = performance.now();
  const reading =
    how === 'fanfare' ? fanfarePages(database, question) : barePages(database.read, question);
  for await (const page of reading) {
    for (const { number, token } of page) {
      if (number <= last || token === '') throw new Error(`device ${number} came after ${last}`);
      last = number;
    }
    devices += page.length;
    pages += 1;
    if (pages % PAGES_BETWEEN_LOOKS !== 0) continue;
    const now = rss();
    most = Math.max(most, now);
    if (devices * 2 < question.devices) half = now;
  }
  const seconds = (performance.now() - startMs) / 1000;
  const stallMs = stopWatching();
  if (devices !== question.devices) {
    throw new Error(`${question.name}: ${devices} devices came, not ${question.devices}`);
  }
  const end = rss();
  return { seconds, stallMs, rssBytes: { start, half, most: Math.max(most, end), end } };
}

// Its parent is the one who writes it.
const task: ReaderTask = JSON.parse(process.argv[2] ?? '');
console.log(JSON.stringify(await read(task)));
