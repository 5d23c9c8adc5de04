import type { Platform } from '../../../push/model/device.ts';
import { redactedUrl } from '../../../runtime/logging/redact.ts';
import {
  type ConditionRule,
  duration,
  type Found,
  type PausedGateway,
  type Situation,
  when,
} from './rule.ts';
import { total } from './samples.ts';

const MINUTE_MS = 60_000;

/** How long a webhook address must have failed; and, if nothing waits for it, how recent its last attempt must be. */
const FAILING_MS = 30_000;
const TRIED_MS = 10 * MINUTE_MS;

/** How long a webhook request or a push job may be overdue. */
const WAIT_MAX_MS = 60_000;

/** A quota counts as nearly used from this share on. */
const NEARLY_USED = 0.95;

const gateways: Readonly<Record<Platform, string>> = {
  apns: 'Apple (APNs)',
  fcm: 'Google (FCM)',
  web: 'A push service of browsers',
};

/** Rules about webhooks, push and the message quotas of apps. */
export const deliveryRules: readonly ConditionRule[] = [
  { id: 'webhook-fails', check: failingWebhooks },
  {
    id: 'webhooks-late',
    alert: 'FanfareWebhooksLate',
    check: ({ sample }) => {
      const seconds = total(sample, 'outboxOldestAge');
      return when(seconds * 1_000 > WAIT_MAX_MS, () => ({
        level: 'warn',
        text: `The oldest of ${total(sample, 'outboxRequests')} webhook requests has waited for ${duration(seconds * 1_000)}.`,
        advice: 'An endpoint is down or slow, or the store is slow.',
      }));
    },
  },
  {
    id: 'webhooks-dropped',
    alert: 'FanfareWebhookEventsDropped',
    check: ({ samples }) => {
      const dropped = samples.increase('webhookEventsDropped', 10 * MINUTE_MS);
      return when(dropped > 0, () => ({
        level: 'bad',
        text: `${dropped} webhook events were lost in ten minutes, because too many waited.`,
        advice:
          'Mend the endpoint that fails, or take its webhook out of the app. The log names the app and the limit.',
      }));
    },
  },
  { id: 'gateway', alert: 'FanfarePushPaused', check: pausedGateways },
  {
    id: 'push-late',
    alert: 'FanfarePushLate',
    check: ({ sample }) => {
      const seconds = total(sample, 'pushLag');
      return when(seconds * 1_000 > WAIT_MAX_MS, () => ({
        level: 'warn',
        text: `Notifications have waited for ${duration(seconds * 1_000)} to be sent.`,
        advice:
          'A gateway is paused, the store is slow, or the gateways cannot keep up with the publishes. `fanfare push status PUBLISH-ID` shows what a publish waits for.',
      }));
    },
  },
  {
    id: 'push-gave-way',
    check: ({ samples }) => {
      const devices = samples.increase('pushLeftOut', 10 * MINUTE_MS, 'gave-way');
      return when(devices > 0, () => ({
        level: 'warn',
        text: `${devices} notifications were given up in ten minutes: they waited only for failures, and new publishes needed their room.`,
        advice:
          'The log names the instance. Mend what fails for long: a credential that is refused, or a push service. If it is an outage, raise limits.pendingPublishBytes of the instance.',
      }));
    },
  },
  {
    id: 'quota',
    alert: 'FanfareQuotaLow',
    check: ({ quotas }) =>
      quotas
        .filter(({ messages, messagesPerDay }) => messages >= NEARLY_USED * messagesPerDay)
        .map(({ appId, messages, messagesPerDay }) => ({
          key: appId,
          app: appId,
          level: messages >= messagesPerDay ? 'bad' : 'warn',
          text:
            messages >= messagesPerDay
              ? `App ${appId} has used its ${messagesPerDay} messages of today. Its backends get 403.`
              : `App ${appId} has used ${Math.floor((100 * messages) / messagesPerDay)} % of its ${messagesPerDay} messages of today.`,
          advice: 'Raise limits.messagesPerDay of the app, or wait for midnight UTC.',
        })),
  },
];

function failingWebhooks({ endpoints, nowMs }: Situation): readonly Found[] {
  return endpoints.flatMap((one): readonly Found[] => {
    const { kind, ownerId, failingSinceMs, lastStatus, lastOutcome, waiting, lastAtMs } = one;
    if (failingSinceMs === undefined || nowMs - failingSinceMs < FAILING_MS) return [];
    if (waiting === 0 && nowMs - lastAtMs > TRIED_MS) return [];
    const url = redactedUrl(one.url);
    const owner = kind === 'channels' ? `app ${ownerId}` : `instance ${ownerId}`;
    const why = lastStatus === undefined ? whyNot[lastOutcome] : `HTTP ${lastStatus}`;
    return [
      {
        key: one.endpoint,
        // Publishes can name any address, and only their sender is affected.
        level: kind === 'publish' ? 'warn' : 'bad',
        text: `Webhooks of ${owner} to ${url} fail: ${why}. ${waiting} wait.`,
        advice: 'Repair the endpoint. Requests that were given up can be sent again.',
        sinceMs: failingSinceMs,
        webhookUrl: url,
        ...(kind === 'channels' ? { app: ownerId } : { instance: ownerId }),
      },
    ];
  });
}

const whyNot = {
  delivered: '',
  refused: 'the answer is not 2xx',
  timeout: 'no answer in time',
  unreachable: 'it cannot be reached',
  'not-allowed': 'its address is private, and webhooks.allowPrivateAddresses is off',
} as const;

/** One finding for each instance, platform and cause: browsers can name any number of push services. */
function pausedGateways({ circuits }: Situation): readonly Found[] {
  const groups = Map.groupBy(
    circuits,
    ({ instanceId, platform, why }) => `${instanceId} ${platform} ${why}`,
  );
  return Array.from(groups, ([key, group]) => {
    const [first] = group as [PausedGateway, ...PausedGateway[]];
    const { instanceId, platform, why, words } = first;
    const isUnproven = group.every((one) => one.isUnproven === true);
    const others = group.length > 1 ? ` (${group.length} of them)` : '';
    const said = words === '' ? '' : ` It says: ${words.slice(0, 200)}`;
    const found = {
      key,
      instance: instanceId,
      sinceMs: Math.min(...group.map(({ sinceMs }) => sinceMs)),
    };
    if (why === 'gateway') {
      return {
        ...found,
        level: 'warn',
        text: `${gateways[platform]}${others} fails for instance ${instanceId}. Its devices wait.${said}`,
        advice:
          'Nothing, unless it lasts: look at the status page of the gateway and at the network.',
      };
    }
    return {
      ...found,
      level: isUnproven ? 'warn' : 'bad',
      text: `${gateways[platform]}${others} refuses the credential of instance ${instanceId}. Its devices wait.${said}`,
      advice: isUnproven
        ? 'No device was reached with the credential yet: it may be wrong, or all devices so far are fakes.'
        : 'Put in a new credential. Devices that wait are then reached within their time to live.',
    };
  });
}
