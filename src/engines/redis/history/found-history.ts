import type { EventId } from '../../../channels/history/event-id.ts';
import { newHalf } from '../../../channels/history/event-id.ts';
import { historyRuleOf } from '../../../channels/history/history-rule.ts';
import type { FoundHistory } from '../../../channels/history/resume.ts';
import type { Entry } from '../../../channels/ports.ts';
import { parseSocketId } from '../../../channels/socket-id.ts';
import { type Reply, textsOf } from '../link/reply.ts';
import { rulesText } from './rules.ts';

/** Encodes for `enterHistory` what a connection wants from the history of a channel; `''`: nothing. */
export function historyToRead({ app, channel, history }: Entry): string {
  if (history === undefined) return '';
  const rule = historyRuleOf(app, channel.text);
  if (rule === undefined) return '';
  const { place, roomBytes } = history;
  if (place === undefined && rule.replay === 0) return '';
  const sockets = place?.socketIds.filter((id) => parseSocketId(id) !== undefined) ?? [];
  return [
    rulesText(app),
    newHalf(),
    rule.seconds,
    rule.replay,
    Math.floor(roomBytes),
    place?.after ?? 'stock',
    ` ${sockets.join(' ')} `,
  ].join(' ');
}

/** Decodes what a connection gets from the history of a channel. */
export function readFound(reply: Reply | undefined): FoundHistory | undefined {
  const [id, outcome, frames] = Array.isArray(reply) ? reply : [];
  if (id === undefined) return undefined;
  return {
    id: id as EventId | '',
    outcome: outcome === '' ? undefined : (outcome as FoundHistory['outcome']),
    frames: textsOf(frames),
  };
}
