import type { App } from '../../../channels/app.ts';
import { newHalf } from '../../../channels/history/event-id.ts';
import { historyRuleOf } from '../../../channels/history/history-rule.ts';
import type { Publication } from '../../../channels/ports.ts';
import { PARTITIONS } from '../../partition.ts';
import { rulesText } from './rules.ts';

/**
 * Encodes for `keepEvent` how to keep an event; `''`: not at all. Each partition gets an equal share of the limits of
 * an app and of all apps.
 */
export function historyToKeep(
  { app, channel, cause }: Pick<Publication, 'app' | 'channel' | 'cause'>,
  historyBytes: number,
): string {
  const rule = cause === 'backend' ? historyRuleOf(app, channel) : undefined;
  if (rule === undefined) return '';
  const { seconds, events, bytes } = rule;
  const partOf = (all: number) => Math.floor(all / PARTITIONS);
  return [
    rulesText(app),
    newHalf(),
    newHalf(),
    seconds,
    events,
    bytes,
    partOfApp(app),
    partOf(historyBytes),
  ].join(' ');
}

/** 0: only the limit of the server applies. */
function partOfApp({ limits: { historyBytes } }: App): number {
  return historyBytes === 0 ? 0 : Math.max(1, Math.floor(historyBytes / PARTITIONS));
}
