import { STORE_PAUSE_MS } from '../../src/push/delivering/limits.ts';
import { limits, type PushWorld } from './push-world.ts';
import type { Send } from './simulated-gateways.ts';
import type { SimulatedPublish } from './simulated-publishes.ts';

/** After a publish was cancelled, only what was in flight goes out. */
const CANCEL_MS = 3 * limits.claimMs;

/** Returns the broken rules of a world in which everything has ended. */
export function findProblems(world: PushWorld): readonly string[] {
  return [
    ...world.problems,
    ...world.gateways.problems,
    ...[...world.publishes.all.values()].flatMap((one) => [
      ...findMiscounts(world, one),
      ...findWrongSends(world, one),
    ]),
  ];
}

/** Each device of a publish is accounted for once. */
function findMiscounts(world: PushWorld, one: SimulatedPublish): readonly string[] {
  const { id, instance } = one.publish;
  const problems: string[] = [];
  const say = (problem: string) => problems.push(`${id}: ${problem}`);
  const kept = world.publishes.store.find(instance, id);
  if (kept === undefined) return [`${id} is gone`];
  const state = kept.over?.state;
  if (state !== (one.cancelledAtMs === undefined ? 'finished' : 'cancelled')) {
    say(`its state is ${state}`);
  }
  const planned = kept.pages.flatMap(({ devices }) => devices);
  if (new Set(planned).size !== planned.length) say('a device is in two pages');
  if (state === 'finished') {
    // Devices that were pruned meanwhile may have been deleted before they were sent to.
    const present = new Set(world.devices.of(instance).map(({ number }) => number));
    const missing = [...one.certain].filter(
      (device) => present.has(device) && !planned.includes(device),
    );
    if (missing.length > 0) say(`the devices ${missing} are in no page`);
  }
  for (const page of kept.pages) {
    if (page.state === 'cancelled') continue;
    if (page.fates.size !== page.devices.length)
      say(`page ${page.number} has devices without a fate`);
    for (const [device, fate] of page.fates) {
      if (fate.state === 'retrying') say(`device ${device} waits for ever`);
      if (fate.state === 'cancelled' && state !== 'cancelled')
        say(`device ${device} was cancelled`);
    }
  }
  if (one.started === 0 && planned.length > 0) say('its start was not reported');
  if (one.finished > 1) say(`it finished ${one.finished} times`);
  const isCertain = !world.hasCrashes && !world.hasStoreTrouble && state === 'finished';
  if (isCertain && one.finished !== 1) say('its end was not reported once');
  return problems;
}

/** No device gets a notification twice, unless a crash lost the outcome. */
function findWrongSends(world: PushWorld, one: SimulatedPublish): readonly string[] {
  const { publish, cancelledAtMs, endsAtMs } = one;
  const problems: string[] = [];
  const sends = world.gateways.sends.filter(({ publish: id }) => id === publish.id);
  const fates = new Map(
    world.publishes.store
      .find(publish.instance, publish.id)
      ?.pages.flatMap(({ fates: some }) => [...some]),
  );
  for (const [device, some] of Map.groupBy(sends, (send) => send.device)) {
    const say = (problem: string) => problems.push(`${publish.id}, device ${device}: ${problem}`);
    const [first] = some;
    if (first === undefined) continue;
    for (const { atMs } of some) {
      if (atMs >= endsAtMs[first.platform]) say('was sent to after the end of its time');
      if (atMs < one.dueAtMs) say('was sent to before its time');
      if (cancelledAtMs !== undefined && atMs > cancelledAtMs + CANCEL_MS) {
        say('was sent to long after the publish was cancelled');
      }
    }
    for (const [index, send] of some.entries()) {
      const next = some[index + 1];
      const wrong = next && whyWrong(send, next);
      if (next && wrong && !isExcused(world, send, next)) say(wrong);
    }
    const fate = fates.get(device);
    if (fate?.state === 'accepted' && !some.some(({ outcome }) => outcome?.result === 'accepted')) {
      say('counts as accepted, and no gateway has accepted it');
    }
    if (fate?.state === 'pruned' && some.every((send) => !mayPrune(send))) {
      say('was pruned though its token is not known to be dead');
    }
  }
  for (const [device, fate] of fates) {
    if (fate.state !== 'accepted' || sends.some((send) => send.device === device)) continue;
    problems.push(`${publish.id}, device ${device}: counts as accepted, and was never sent to`);
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
    return afterMs !== undefined && next.atMs < endedAtMs + afterMs
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
  const { lives, storeTroubles } = world;
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
function wasKept({ storeSlowMs, storeTroubles }: PushWorld, send: Send, diedAtMs: number): boolean {
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
