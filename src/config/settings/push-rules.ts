import { z } from 'zod';
import { hasMoreCharacters } from '../../runtime/characters.ts';
import { isObject, isPlainJson, PLAIN_JSON } from './plain-json.ts';
import { oneOrMore, text, textThat, wholeNumber } from './setting-kinds.ts';

/** Each event is compared with each rule. */
const RULES_MAX = 20;

/** Characters of one payload as JSON. No gateway takes as many. */
const PAYLOAD_LENGTH_MAX = 10_240;

/** The beginnings of channels that not everybody may subscribe to. */
const CLOSED = ['private-', 'presence-', '#'];

const payload = (platform: string) =>
  z
    .custom<Record<string, unknown>>(
      (value) =>
        isObject(value) && isPlainJson(value) && JSON.stringify(value).length <= PAYLOAD_LENGTH_MAX,
      { error: `must be an object of ${PLAIN_JSON}, and at most ${PAYLOAD_LENGTH_MAX} characters` },
    )
    .optional()
    .describe(
      `The payload for ${platform}, as in a publish. \`{{field}}\` in a text is replaced by a text or number from the data of the event; dots separate nested keys.`,
    );

const pushRule = z
  .strictObject({
    channels: textThat(
      /^(?=.)#?[\w\-=@,.;]{0,200}\*?$/,
      'be the name of a channel, or the beginning of names and *',
      'The name of a channel, or the beginning of names and `*`.',
    ),
    events: oneOrMore(
      text('')
        .refine((name) => !hasMoreCharacters(name, 200), {
          error: 'must have at most 200 characters',
        })
        // JSON Schema counts characters too.
        .meta({ maxLength: 200 })
        .refine((name) => !/^pusher(?:_internal)?:/.test(name), {
          error:
            'must not begin with pusher: or pusher_internal:, because nobody can send such an event',
        }),
      'Names of events. Events of clients count if a name is that of a client event.',
    ),
    instance: textThat(
      /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
      'be a UUID such as 6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c',
      'The id of the push instance that sends the notifications.',
    ).toLowerCase(),
    interest: textThat(
      /^(?:[A-Za-z0-9_\-=@,.;]|\*){1,164}$/,
      'be an interest, in which * stands for what the * of `channels` fits',
      'The interest whose devices get them. `*` is replaced by what the `*` of `channels` matches. Not for private, presence and user channels: anybody may subscribe a device to an interest.',
    ).optional(),
    users: textThat(
      /^[^.{}\0]+(?:\.[^.{}\0]+){0,9}$/,
      'name a field of the data, such as recipients or message.to',
      'The field of the data with the id or ids of the users who get them; dots separate nested keys.',
    ).optional(),
    apns: payload('iOS devices'),
    fcm: payload('Android devices'),
    web: payload('browsers'),
    perSecond: wholeNumber(
      { min: 1, max: 1_000 },
      10,
      'Events per second that become notifications, on each server. More are left out and counted.',
    ),
  })
  .refine(({ interest, users }) => (interest === undefined) !== (users === undefined), {
    error: 'needs either interest or users',
  })
  .refine(({ apns, fcm, web }) => apns !== undefined || fcm !== undefined || web !== undefined, {
    error: 'needs apns, fcm or web',
  })
  .refine(({ interest, channels }) => interest === undefined || !mayBeClosed(channels), {
    error:
      'must not be given for channels that may be private, presence or user channels: anybody may subscribe a device to an interest',
    path: ['interest'],
  });

/** Whether the names of private, presence or user channels fit. */
function mayBeClosed(channels: string): boolean {
  if (!channels.endsWith('*')) return CLOSED.some((beginning) => channels.startsWith(beginning));
  const start = channels.slice(0, -1);
  return CLOSED.some((beginning) => start.startsWith(beginning) || beginning.startsWith(start));
}

/** The setting `pushRules` of an app. */
export const pushRules = z
  .array(pushRule.meta({ id: 'PushRule' }))
  .max(RULES_MAX, { error: `must have at most ${RULES_MAX} entries` })
  .default([])
  .describe(
    'Events that become notifications for those who did not get them in the app. Every rule that fits an event counts.',
  );
