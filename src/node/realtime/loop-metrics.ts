import type { AnswerTo } from '../../asking/questions.ts';
import type { LoopDelay } from '../../observability/loop-delay.ts';
import type { MetricValues } from '../../observability/meter.ts';
import { loopName } from '../link/loop-name.ts';
import { type ShareName, shareLabels } from '../memory/shares.ts';
import type { AudienceParts } from './clients/audience.ts';
import type { Transports } from './clients/transports.ts';
import type { Core } from './engine/core.ts';
import type { LoopBase } from './loop-base.ts';

/** The parts of a loop that its metrics are measured from. */
export interface MeasuredParts {
  readonly audience: AudienceParts;
  readonly core: Core;
  readonly transports: Transports;
  readonly loopDelay: LoopDelay;
}

/** The shares of the memory whose contents are counted at no cost. */
type MeasuredShare = Extract<
  ShareName,
  'connections' | 'subscriptions' | 'waitingBytes' | 'historyBytes' | 'unfinishedBytes'
>;

/** Measures this loop, and returns all of its metrics. */
export function measureLoop(base: LoopBase, parts: MeasuredParts): MetricValues {
  const { meter, links, logLinesDropped } = base;
  const { audience, core, transports, loopDelay } = parts;
  const loop = loopName(links.index);
  meter.set('connections', audience.connections.size);
  meter.set('fallbackConnections', transports.fallback.sessions.size);
  meter.set('readers', transports.readers.size);
  meter.set('unreadAnswerBytes', transports.unread.bytes);
  meter.set('channels', core.engine.counter.channelCount());
  meter.set('waitingSubscriptions', core.hub.channels.waiting);
  meter.set('waitingTokens', core.hub.tokenTurns.size);
  meter.set('loopDelay', loopDelay.longestSeconds(), loop);
  meter.set('logLinesDropped', logLinesDropped(), loop);
  const { waiting, awaySeconds, masters = 0, history } = core.engine.figures();
  meter.set('engineUp', awaySeconds === 0 ? 1 : 0, loop);
  meter.set('engineAway', awaySeconds, loop);
  meter.set('engineMasters', masters, loop);
  meter.set('engineWaiting', waiting);
  meter.set('historyEvents', history?.events ?? 0);
  meter.set('historyBytes', history?.bytes ?? 0);
  for (const [share, usedBytes] of memoryInUse(base, parts)) {
    meter.set('memoryShareUsed', usedBytes, shareLabels[share]);
  }
  return meter.snapshot();
}

/** The bytes that this loop uses of shares of the memory. */
function memoryInUse(
  { memory }: LoopBase,
  { audience, core, transports }: MeasuredParts,
): readonly (readonly [share: MeasuredShare, usedBytes: number])[] {
  const { bodies, unread } = transports;
  const reserved = bodies.reduce((sum, { reservedBytes }) => sum + reservedBytes, unread.bytes);
  const amounts: Readonly<Record<MeasuredShare, number>> = {
    connections: audience.connections.size,
    subscriptions: core.hub.channels.subscriptions,
    waitingBytes: audience.slowConsumers.waitingBytes,
    historyBytes: core.engine.figures().history?.bytes ?? 0,
    // The cost is that of all four kinds together.
    unfinishedBytes: reserved / 4,
  };
  return (Object.keys(amounts) as MeasuredShare[]).map((share) => [
    share,
    Math.round(amounts[share] * memory.unitCosts[share]),
  ]);
}

/** What this loop uses of each of these shares, which are those of all loops together. */
export function memoryUses(base: LoopBase, parts: MeasuredParts): AnswerTo<'memory'> {
  const { costs } = base.memory;
  return memoryInUse(base, parts).map(([share, usedBytes]) => ({
    share: shareLabels[share],
    usedBytes,
    // Open files may be unlimited.
    mostBytes: Number.isFinite(costs[share]) ? costs[share] : null,
  }));
}
