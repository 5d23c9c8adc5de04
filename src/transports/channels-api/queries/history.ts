import type { ChannelName } from '../../../channels/channel-name.ts';
import { ask } from '../../../channels/engine-failure.ts';
import { type EventId, parseEventId } from '../../../channels/history/event-id.ts';
import { historyRuleOf } from '../../../channels/history/history-rule.ts';
import type { HistoryQuery } from '../../../channels/history/page.ts';
import { after, type MaybePromise } from '../../../channels/maybe-promise.ts';
import { type Answer, type Call, EMPTY } from '../call.ts';
import { refuseBody, refuseExtraneous } from '../extraneous.ts';
import { ApiRefusal, invalid } from '../problems.ts';
import { type Parameter, parameterOf } from '../query.ts';
import { readChannel } from './query-channels.ts';

/** Events of one page. */
const LIMIT_MAX = 1000;
const LIMIT_DEFAULT = 100;

/** `GET /channels/NAME/history`: the kept events of a channel, in pages. */
export function readHistory({
  histories,
  app,
  parameters,
  channelText,
}: Call): MaybePromise<Answer> {
  const channel = readKeptChannel({ app, channelText });
  if (channel instanceof ApiRefusal) return channel;
  const query = readQuery(parameters);
  if (query instanceof ApiRefusal) return query;
  return histories.answer(app, channel, query);
}

/** `POST /channels/NAME/forget_history`: every place that a client has in the history becomes a gap. */
export function forgetHistory(call: Call): MaybePromise<Answer> {
  const channel = readKeptChannel(call);
  if (channel instanceof ApiRefusal) return channel;
  const { hub, app, parameters, body } = call;
  const refused = refuseExtraneous(parameters) ?? refuseBody(body);
  if (refused !== undefined) return refused;
  return after(
    ask('forgetHistory', () => hub.authority.forgetHistory(app, channel)),
    () => EMPTY,
  );
}

function readKeptChannel({
  app,
  channelText,
}: Pick<Call, 'app' | 'channelText'>): ChannelName | ApiRefusal {
  const channel = readChannel(channelText);
  if (channel instanceof ApiRefusal || historyRuleOf(app, channel.text) !== undefined)
    return channel;
  return invalid(
    `history: the channel ${channel.text} keeps none; see "history" in the settings of the app`,
  );
}

function readQuery(parameters: readonly Parameter[]): HistoryQuery | ApiRefusal {
  const names = ['limit', 'before_id', 'after_id'];
  const extraneous = refuseExtraneous(parameters.filter(({ name }) => !names.includes(name)));
  if (extraneous !== undefined) return extraneous;
  const limitText = parameterOf(parameters, 'limit');
  const limit = limitText === undefined ? LIMIT_DEFAULT : Number(limitText);
  if (limitText !== undefined && (!/^\d{1,4}$/.test(limitText) || limit > LIMIT_MAX)) {
    return invalid(`limit: must be a whole number of 0 to ${LIMIT_MAX}`);
  }
  const before = readId(parameters, 'before_id');
  if (before instanceof ApiRefusal) return before;
  const afterId = readId(parameters, 'after_id');
  if (afterId instanceof ApiRefusal) return afterId;
  if (afterId === undefined) return { order: 'newest-first', before, limit };
  if (before !== undefined) return invalid('before_id: not together with after_id');
  return { order: 'oldest-first', after: afterId, limit };
}

function readId(parameters: readonly Parameter[], name: string): EventId | undefined | ApiRefusal {
  const text = parameterOf(parameters, name);
  if (text === undefined) return undefined;
  return parseEventId(text) ?? invalid(`${name}: must be the id of an event, like 1042-k3x9q2ab`);
}
