import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import { restart } from '../../../../testing/servers/restart.ts';
import {
  ask,
  BACKEND,
  fieldRefusal,
  publish,
  published,
  publishes,
  startPush,
  TO_INTERESTS,
  TO_USERS,
} from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

const DAY_MS = 86_400_000;

/** A whole second of the next days. */
const soon = new Date(Math.ceil(Date.now() / 1000) * 1000 + 2 * DAY_MS);
const SOON = soon.toISOString();
const date = SOON.slice(0, 10);
const [, time = ''] = /T(\d\d:\d\d:\d\d)/.exec(SOON) ?? [];

/** The same moment on a clock that is this many hours ahead. */
function ahead(hours: number): string {
  return new Date(soon.getTime() + hours * 3_600_000).toISOString().slice(0, 19);
}

async function statusOf(id: string, at: Fanfare = server) {
  const answer = await ask(at, 'GET', publishes(`/${id}`), { headers: BACKEND });
  return answer.json as { readonly state: string; readonly sendAt: string | null };
}

const withSendAt = (sendAt: unknown) => publish(server, '/interests', { ...TO_INTERESTS, sendAt });

describe('sendAt', () => {
  it.each([TO_INTERESTS, TO_USERS])('schedules a publish: %j', async (body) => {
    const id = await published(server, { ...body, sendAt: SOON });
    expect(await statusOf(id)).toMatchObject({ state: 'scheduled', sendAt: SOON });
  });

  it.each([
    [`${date}T${time}Z`, SOON],
    [`${date}t${time}z`, SOON],
    [`${date}T${time}.5Z`, SOON.replace('.000', '.500')],
    [`${date}T${time}.123456789Z`, SOON.replace('.000', '.123')],
    [`${date}T${time}+00:00`, SOON],
    [`${date}T${time}-00:00`, SOON],
    [`${ahead(2)}+02:00`, SOON],
    [`${ahead(-5)}-05:00`, SOON],
    [`${ahead(5.5)}+05:30`, SOON],
  ])('may be %s', async (sendAt, expected) => {
    const id = await published(server, { ...TO_INTERESTS, sendAt });
    expect(await statusOf(id)).toMatchObject({ state: 'scheduled', sendAt: expected });
  });

  it.each<[unknown]>([
    [''],
    [' '],
    ['soon'],
    ['tomorrow'],
    [date],
    [`${date}T${time}`],
    [`${date} ${time}Z`],
    [`${date}T${time.slice(0, 5)}Z`],
    [`${date}T${time}+0200`],
    [`${date}T${time}+02`],
    [`${date}T${time}+24:00`],
    [`${date}T${time}+02:60`],
    [`${date}T24:00:00Z`],
    [`${date}T23:60:00Z`],
    [`${date}T23:59:60Z`],
    [`${date}T${time}.Z`],
    [`${date}T${time},5Z`],
    [`${date}T${time}Z `],
    [` ${date}T${time}Z`],
    [`${date}T${time}Z\n`],
    [`${date}T${time}ZZ`],
    [`+00${date}T${time}Z`],
    ['2026-02-30T00:00:00Z'],
    ['2025-02-29T00:00:00Z'],
    ['2026-13-01T00:00:00Z'],
    ['2026-00-10T00:00:00Z'],
    ['2026-11-31T00:00:00Z'],
    [soon.toUTCString()],
    [soon.getTime()],
    [String(soon.getTime())],
    [soon.getTime() / 1000],
    [0],
    [true],
    [{}],
    [[]],
    [[SOON]],
  ])('may not be %j', async (sendAt) => {
    expect(await withSendAt(sendAt)).toMatchObject(fieldRefusal('sendAt'));
  });

  it('is at most 30 days ahead', async () => {
    const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();
    expect((await withSendAt(inDays(29.999))).status).toBe(200);
    for (const days of [30.001, 31, 365, 2_000_000]) {
      expect(await withSendAt(inDays(days))).toMatchObject(fieldRefusal('sendAt'));
    }
    expect(await withSendAt('9999-12-31T23:59:59Z')).toMatchObject(fieldRefusal('sendAt'));
  });

  it.each<[unknown]>([
    [new Date(Date.now() - 1000).toISOString()],
    ['2000-02-29T00:00:00Z'],
    ['0000-01-01T00:00:00Z'],
    [null],
  ])('in the past, or null, means now: %s', async (sendAt) => {
    const { state, ...others } = await statusOf(
      await published(server, { ...TO_INTERESTS, sendAt }),
    );
    expect(others.sendAt).toBeNull();
    expect(state).toMatch(/^(planning|delivering|finished)$/);
  });

  it('has exactly this name', async () => {
    const id = await published(server, { ...TO_INTERESTS, send_at: SOON, SendAt: 7 });
    expect((await statusOf(id)).sendAt).toBeNull();
  });
});

it('survives a crash, and the publish can then still be cancelled', async () => {
  await using before = await startPush();
  const id = await published(before, { ...TO_INTERESTS, sendAt: SOON });
  const atOnce = await published(before);
  await using after = await restart(before, 'SIGKILL');
  expect(await statusOf(id, after)).toMatchObject({ state: 'scheduled', sendAt: SOON });
  expect((await statusOf(atOnce, after)).sendAt).toBeNull();
  const cancelled = await ask(after, 'DELETE', publishes(`/${id}`), { headers: BACKEND });
  expect(cancelled.json).toMatchObject({ state: 'cancelled', sendAt: SOON });
});
