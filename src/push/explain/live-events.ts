import type { DeviceStory } from '../model/delivery.ts';
import type { LiveSkip, LiveStatus } from '../model/live.ts';
import type { PublishStatus } from '../model/publish.ts';
import type { TimelineEvent } from './timeline.ts';

/** Why nobody was asked, and what to do about it. */
export const liveSkips: Readonly<
  Record<LiveSkip, readonly [why: string, advice: string | undefined]>
> = {
  'app-disabled': ['the app of the instance is disabled or deleted', 'Enable the app.'],
  'over-quota': [
    'the app has used up its messages of the day',
    'Raise `limits.messagesPerDay` of the app.',
  ],
  'engine-away': [
    'the server could not reach Redis',
    'Look for the condition `redis-away` in the log.',
  ],
  'too-many': [
    'the server was asking as many users as it may ask at once',
    'Publish to fewer users at a time, or with a smaller `live.waitSeconds`.',
  ],
  'not-allowed': [
    'the instance had no app any more, or its app refused the event',
    'Look at `push.instances[].app`, and at the limits of that app.',
  ],
  'no-result': [
    'the answers did not come in time: the server stopped or was overloaded while it asked, or its store failed',
    undefined,
  ],
};

/** The live result of a publish for the user of a device. */
export function liveEvents(
  { live: user }: Pick<DeviceStory, 'live'>,
  { live, rule }: Pick<PublishStatus, 'live' | 'rule'>,
): TimelineEvent[] {
  if (live?.state === 'skipped') {
    const [why, advice] = liveSkips[live.why ?? 'no-result'];
    const whether =
      live.why === 'no-result'
        ? 'It is unknown whether the user got it in the app'
        : 'The user was not asked in the app';
    const detail = `${whether}: ${why}. Everybody gets the notification.`;
    return [{ atMs: undefined, what: 'live-skipped', detail, advice }];
  }
  if (live === undefined || user === undefined) return [];
  const { atMs, state, connections, answeredAfterMs } = user;
  switch (state) {
    case 'reached': {
      const answered = connections === 1 ? 'its connection' : `one of ${connections} connections`;
      const seconds = ((answeredAfterMs ?? 0) / 1000).toFixed(1);
      const got = `The user got it in the app: ${answered} answered after ${seconds} s.`;
      return live.push === 'always'
        ? [{ atMs, what: 'live-reached', detail: got, advice: undefined }]
        : [
            {
              atMs,
              what: 'live-reached',
              detail: `${got} No notification was sent.`,
              advice:
                rule === undefined
                  ? 'With `"push": "always"` in `live`, both are sent.'
                  : undefined,
            },
          ];
    }
    case 'silent': {
      const within = `within ${live.waitSeconds} s, as where a phone sleeps`;
      const had =
        connections === 1
          ? `The user had one connection, which did not answer ${within}.`
          : `The user had ${connections} connections, and none of them answered ${within}.`;
      const detail = `${had} So the notification is sent.`;
      return [{ atMs, what: 'live-silent', detail, advice: undefined }];
    }
    case 'absent':
      return [
        {
          atMs,
          what: 'live-absent',
          detail: 'The user had no connection in the channel, so the notification is sent.',
          advice: undefined,
        },
      ];
    default:
      return state satisfies never;
  }
}

/** Whether the device gets no notification because its user got the event in the app. */
export function wasReachedLive({ live: user }: DeviceStory, live: LiveStatus | undefined): boolean {
  return user?.state === 'reached' && live?.push === 'absent';
}
