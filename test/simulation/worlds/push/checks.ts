import { STORE_PAUSE_MS } from '../../../../src/push/delivering/limits.ts';
import type { KeptPublish } from '../../../../testing/memory-stores/publishes.ts';
import type { Broken } from '../world.ts';
import type { Send } from './gateways.ts';
import type { SimulatedPublish } from './publishes.ts';
import type { PushWorld } from './push-world.ts';
import { limits } from './servers.ts';

/** After a publish was cancelled, only what was in flight goes out. */
const CANCEL_MS = 3 * limits.claimMs;

/** Returns what is broken in a world in which everything has ended, but for what the checker of histories finds. */
export function findProblems(world: PushWorld): readonly Broken[] {
  return [
    ...world.problems,
    ...[...world.publishes.all.values()].flatMap((one) => {
      const kept = world.store.find(one.publish.instance, one.publish.id);
      return kept === undefined
        ? []
        : [...findMiscounts(world, one, kept), ...findWrongSends(world, one, kept)];
    }),
  ];
}

/** `accounts`: each device of a publish is accounted for once. */
function findMiscounts(
  world: PushWorld,
  { publish, cancelledAtMs, started, finished }: SimulatedPublish,
  { over, pages }: KeptPublish,
): readonly Broken[] {
  const problems: Broken[] = [];
  const say = (text: string) => problems.push({ rule: 'accounts', text: `${publish.id}: ${text}` });
  const state = over?.state;
  if (state !== (cancelledAtMs === undefined ? 'finished' : 'cancelled')) {
    say(`its state is ${state}`);
  }
  const planned = pages.flatMap(({ devices }) => devices);
  if (new Set(planned).size !== planned.length) say('a device is in two pages');
  for (const page of pages) {
    if (page.state === 'cancelled') continue;
    if (page.fates.size !== page.devices.length)
      say(`page ${page.number} has devices without a fate`);
    for (const [device, fate] of page.fates) {
      if (fate.state === 'retrying') say(`device ${device} waits for ever`);
      if (fate.state === 'cancelled' && state !== 'cancelled')
        say(`device ${device} was cancelled`);
    }
  }
  if (started === 0 && planned.length > 0) say('its start was not reported');
  if (finished > 1) say(`it finished ${finished} times`);
  const isCertain = !world.hasCrashes && !world.hasStoreTrouble && state === 'finished';
  if (isCertain && finished !== 1) say('its end was not reported once');
  return problems;
}

/** `times`, `repeats` and `prunes`: when devices are sent to, how soon again, and which are given up. */
function findWrongSends(
  world: PushWorld,
  { publish, cancelledAtMs, endsAtMs, dueAtMs }: SimulatedPublish,
  kept: KeptPublish,
): readonly Broken[] {
  const problems: Broken[] = [];
  const sends = world.gateways.sends.filter(({ publish: id }) => id === publish.id);
  const fates = new Map(kept.pages.flatMap(({ fates: some }) => [...some]));
  for (const [device, some] of Map.groupBy(sends, (send) => send.device)) {
    const say = (rule: string, text: string) =>
      problems.push({ rule, text: `${publish.id}, device ${device}: ${text}` });
    for (const { atMs, platform } of some) {
      if (atMs >= endsAtMs[platform]) say('times', 'was sent to after the end of its time');
      if (atMs < dueAtMs) say('times', 'was sent to before its time');
      if (cancelledAtMs !== undefined && atMs > cancelledAtMs + CANCEL_MS) {
        say('times', 'was sent to long after the publish was cancelled');
      }
    }
    for (const [index, send] of some.entries()) {
      const next = some[index + 1];
      const wrong = next && whyWrong(send, next);
      if (next && wrong && !isExcused(world, send, next)) say('repeats', wrong);
    }
    if (fates.get(device)?.state === 'pruned' && some.every((send) => !mayPrune(send))) {
      say('prunes', 'was pruned though its token is not known to be dead');
    }
  }
  return problems;
}

/** Why the second of two sends to one device should not have been made. */
function whyWrong(send: Send, next: Send): string | undefined {
  const { outcome, endedAtMs } = send;
  if (outcome === undefined || endedAtMs === undefined || endedAtMs > next.atMs) {
    return 'was sent to again before the outcome was known';
  }
  if (outcome.result === 'try-again') {
    const { afterMs } = outcome;
    // Another token is another device to its gateway.
    return afterMs !== undefined && next.token === send.token && next.atMs < endedAtMs + afterMs
      ? 'was sent to again earlier than its gateway wants'
      : undefined;
  }
  return outcome.result === 'not-authorised'
    ? undefined
    : `was sent to again after the outcome ${outcome.result}`;
}

/** The pause before a failed call to the store is repeated, with the time that the call takes. */
const STORE_RETRY_MS = 3_000;

/** Whether a server could not store an outcome: it crashed or stopped, or its claim expired while the store was away. */
function isExcused(world: PushWorld, send: Send, next: Send): boolean {
  const { lives, storeTroubles } = world.servers;
  const life = lives[send.life];
  if (life === undefined) return false;
  const { endedAtMs } = life;
  if (endedAtMs !== undefined && endedAtMs <= next.atMs) {
    // It crashed before it could store the outcome, which takes a moment.
    if (life.state === 'dead') return !wasKept(world, send, endedAtMs);
    // A stop waits only a bounded time for sends and for the store.
    const stoppingAtMs = life.stoppingAtMs ?? endedAtMs;
    if (send.endedAtMs === undefined || send.endedAtMs >= stoppingAtMs + limits.stopMs) return true;
    if (storeTroubles.some(({ atMs }) => atMs >= stoppingAtMs && atMs <= endedAtMs)) return true;
  }
  // A claim lasts longer than any send, so the outcome was known, and the store was away until the claim expired.
  if (send.endedAtMs === undefined || send.endedAtMs > next.atMs) return false;
  const earliestEndMs = send.atMs + limits.sendMs;
  return (
    next.atMs >= earliestEndMs &&
    storeTroubles.some(({ atMs }) => atMs >= earliestEndMs - STORE_RETRY_MS && atMs <= next.atMs)
  );
}

/** Results are written after this time at the latest, unless a commit waits for another. */
const KEEP_MS = 105;

/** Whether a server had the time to store an outcome before it crashed. */
function wasKept({ servers }: PushWorld, send: Send, diedAtMs: number): boolean {
  const { storeTroubles, trouble } = servers;
  const { slowMs: storeSlowMs } = trouble;
  if (send.endedAtMs === undefined) return false;
  const heardAtMs = send.endedAtMs;
  // The commit before it may have had to end first; each takes time on the way there and back.
  const keptAtMs = heardAtMs + KEEP_MS + 4 * storeSlowMs;
  // After a failure, the store is called again only after a pause.
  const troubledFromMs = heardAtMs - STORE_PAUSE_MS - KEEP_MS - 4 * storeSlowMs;
  return (
    keptAtMs < diedAtMs &&
    !storeTroubles.some(({ atMs }) => atMs >= troubledFromMs && atMs <= diedAtMs)
  );
}

function mayPrune({ outcome, seenAtMs }: Send): boolean {
  if (outcome?.result === 'not-authorised') return true;
  if (outcome?.result !== 'token-gone') return false;
  return outcome.sinceMs === undefined || outcome.sinceMs > seenAtMs;
}
