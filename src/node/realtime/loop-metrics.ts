import type { AnswerTo } from '../../asking/questions.ts';
import type { LocalChannels } from '../../channels/subscribing/local-channels.ts';
import type { EngineFigures } from '../../engines/engine-meter.ts';
import type { LoopDelay } from '../../observability/loop-delay.ts';
import type { MetricValues, TableMeter } from '../../observability/meter.ts';
import type { BodyIntake } from '../../transports/body-intake.ts';
import type { ClientConnections } from '../../transports/clients/connections.ts';
import type { SlowConsumers } from '../../transports/clients/frames/slow-consumers.ts';
import type { HttpSessions } from '../../transports/http-fallback/sessions.ts';
import type { UnreadAnswers } from '../../transports/unread-answers.ts';
import type { LoopName } from '../link/loop-name.ts';
import { type MemoryPlan, type ShareName, shareLabels } from '../memory/shares.ts';
import type { ChannelCounter } from './engine/engine.ts';

/** What the metrics of a loop are measured from. */
export interface LoopMeasures {
  /** The label of this loop. */
  readonly loopName: LoopName;
  readonly meter: TableMeter;
  readonly connections: Pick<ClientConnections, 'size'>;
  /** The connections over HTTP requests. */
  readonly sessions: Pick<HttpSessions, 'size'>;
  readonly counter: ChannelCounter;
  readonly channels: Pick<LocalChannels, 'subscriptions'>;
  readonly slowConsumers: Pick<SlowConsumers, 'waitingBytes'>;
  readonly unread: Pick<UnreadAnswers, 'bytes'>;
  readonly bodies: readonly Pick<BodyIntake, 'reservedBytes'>[];
  readonly engineFigures: () => EngineFigures;
  readonly memory: Pick<MemoryPlan, 'unitCosts' | 'costs'>;
  readonly loopDelay: LoopDelay;
  /** Log lines that were dropped so far. */
  readonly logLinesDropped: () => number;
}

/** The shares of the memory whose contents are counted at no cost. */
type MeasuredShare = Extract<
  ShareName,
  'connections' | 'subscriptions' | 'waitingBytes' | 'historyBytes' | 'unfinishedBytes'
>;

/** Measures this loop, and returns all of its metrics. */
export function measureLoop(measures: LoopMeasures): MetricValues {
  const { loopName, meter, connections, counter, loopDelay, logLinesDropped, engineFigures } =
    measures;
  meter.set('connections', connections.size);
  meter.set('fallbackConnections', measures.sessions.size);
  meter.set('unreadAnswerBytes', measures.unread.bytes);
  meter.set('channels', counter.channelCount());
  meter.set('loopDelay', loopDelay.longestSeconds(), loopName);
  meter.set('logLinesDropped', logLinesDropped(), loopName);
  const { waiting, awaySeconds, history } = engineFigures();
  meter.set('engineUp', awaySeconds === 0 ? 1 : 0, loopName);
  meter.set('engineAway', awaySeconds, loopName);
  meter.set('engineWaiting', waiting);
  meter.set('historyEvents', history?.events ?? 0);
  meter.set('historyBytes', history?.bytes ?? 0);
  for (const [share, usedBytes] of memoryInUse(measures)) {
    meter.set('memoryShareUsed', usedBytes, shareLabels[share]);
  }
  return meter.snapshot();
}

/** The bytes that this loop uses of shares of the memory. */
function memoryInUse({
  connections,
  channels,
  slowConsumers,
  bodies,
  unread,
  engineFigures,
  memory,
}: LoopMeasures): readonly (readonly [share: MeasuredShare, usedBytes: number])[] {
  const reserved = bodies.reduce((sum, { reservedBytes }) => sum + reservedBytes, unread.bytes);
  const amounts: Readonly<Record<MeasuredShare, number>> = {
    connections: connections.size,
    subscriptions: channels.subscriptions,
    waitingBytes: slowConsumers.waitingBytes,
    historyBytes: engineFigures().history?.bytes ?? 0,
    // The cost is that of all four kinds together.
    unfinishedBytes: reserved / 4,
  };
  return (Object.keys(amounts) as MeasuredShare[]).map((share) => [
    share,
    Math.round(amounts[share] * memory.unitCosts[share]),
  ]);
}

/** What this loop uses of each of these shares, which are those of all loops together. */
export function memoryUses(measures: LoopMeasures): AnswerTo<'memory'> {
  const { costs } = measures.memory;
  return memoryInUse(measures).map(([share, usedBytes]) => ({
    share: shareLabels[share],
    usedBytes,
    // Open files may be unlimited.
    mostBytes: Number.isFinite(costs[share]) ? costs[share] : null,
  }));
}
