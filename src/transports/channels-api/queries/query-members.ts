import type { ChannelName } from '../../../channels/channel-name.ts';
import { ask } from '../../../channels/engine-failure.ts';
import { after, type MaybePromise } from '../../../channels/maybe-promise.ts';
import type { Member, MembersQuery } from '../../../channels/ports.ts';
import type { Answer, Call } from '../call.ts';
import { refuseExtraneous } from '../extraneous.ts';
import { ApiRefusal, invalid } from '../problems.ts';
import { type Parameter, parameterOf } from '../query.ts';
import { readChannel } from './query-channels.ts';

/** Members of one page. */
const LIMIT_MAX = 1000;
const LIMIT_DEFAULT = 100;

/** Members of a page that cost as much as one query. */
const MEMBERS_PER_QUERY = 100;

/** `GET /channels/NAME/users`: lists the users in a presence channel, all or in pages. */
export function listMembers({ hub, app, parameters, channelText }: Call): MaybePromise<Answer> {
  const channel = readPresenceChannel(channelText);
  if (channel instanceof ApiRefusal) return channel;
  const asked = readQuery(parameters);
  if (asked instanceof ApiRefusal) return asked;
  const { page: query, showsInfo } = asked;
  if (query === undefined) {
    return after(
      ask('members', () => hub.authority.members(app, channel)),
      (members) => ({ json: `{"users":${usersText(members, showsInfo)}}` }),
    );
  }
  return after(
    ask('membersPage', () => hub.authority.membersPage(app, channel, query)),
    ({ members, next }) => {
      hub.usage.chargeQueries(app, Math.floor(members.length / MEMBERS_PER_QUERY));
      const end = next === undefined ? '' : `,"next":"${next}"`;
      return { json: `{"users":${usersText(members, showsInfo)}${end}}` };
    },
  );
}

/** `GET /channels/NAME/users/USER`: whether a user is in a presence channel. */
export function describeMember(call: Call): MaybePromise<Answer> {
  const { hub, app, parameters, channelText, userId } = call;
  const channel = readPresenceChannel(channelText);
  if (channel instanceof ApiRefusal) return channel;
  const refused = refuseExtraneous(parameters);
  if (refused !== undefined) return refused;
  return after(
    ask('member', () => hub.authority.member(app, channel, userId)),
    (member) => {
      const id = JSON.stringify(userId);
      if (member === undefined) return { json: `{"id":${id},"present":false}` };
      return { json: `{"id":${id},"present":true,"user_info":${member.userInfo ?? 'null'}}` };
    },
  );
}

function readPresenceChannel(text: string): ChannelName | ApiRefusal {
  const channel = readChannel(text);
  if (channel instanceof ApiRefusal || channel.kind === 'presence') return channel;
  return invalid(`${channel.text} is not a presence channel: only these have users`);
}

interface AskedMembers {
  /** `undefined`: all of them. */
  readonly page: MembersQuery | undefined;
  readonly showsInfo: boolean;
}

function readQuery(parameters: readonly Parameter[]): AskedMembers | ApiRefusal {
  const isInfo = ({ name, value }: Parameter) => name === 'info' && value === 'user_info';
  const isKnown = (one: Parameter) => one.name === 'limit' || one.name === 'after' || isInfo(one);
  const extraneous = refuseExtraneous(parameters.filter((one) => !isKnown(one)));
  if (extraneous !== undefined) return extraneous;
  const showsInfo = parameters.some(isInfo);
  const limitText = parameterOf(parameters, 'limit');
  const afterText = parameterOf(parameters, 'after');
  if (limitText === undefined && afterText === undefined) return { page: undefined, showsInfo };
  const limit = limitText === undefined ? LIMIT_DEFAULT : Number(limitText);
  if (limitText !== undefined && (!/^\d{1,4}$/.test(limitText) || limit < 1 || limit > LIMIT_MAX)) {
    return invalid(`limit: must be a whole number of 1 to ${LIMIT_MAX}`);
  }
  if (afterText !== undefined && !/^\d{1,16}$/.test(afterText)) {
    return invalid('after: must be the next of an earlier answer');
  }
  return { page: { after: afterText, limit }, showsInfo };
}

/** The infos are JSON text already. */
function usersText(members: readonly Member[], showsInfo: boolean): string {
  const users = members.map(({ userId, userInfo }) => {
    const info = showsInfo ? `,"user_info":${userInfo ?? 'null'}` : '';
    return `{"id":${JSON.stringify(userId)}${info}}`;
  });
  return `[${users.join(',')}]`;
}
