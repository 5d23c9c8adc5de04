import type {
  Composing,
  CountedAudience,
  CredentialAnswer,
  Draft,
  Preview,
} from '../../../admin/push/composing.ts';
import type { InstanceSettings } from '../../../config/schema.ts';
import type { AudienceSource } from '../../../push/audience-source.ts';
import type { CapUses } from '../../../push/cap-uses.ts';
import type { AnyGateway } from '../../../push/delivering/routes/prepared-publish.ts';
import type { Platform } from '../../../push/model/device.ts';
import type { InstanceDirectory, PushInstance } from '../../../push/model/instance.ts';
import type { LiveRequest, LiveUserState } from '../../../push/model/live.ts';
import { PushRefusal } from '../../../push/refusal.ts';
import { readDraft } from '../../../push/requests/publish-faults.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import type { Timers } from '../../../runtime/ports.ts';
import { OperationRefused, type RefusalCode } from '../../../tenants/operation-refused.ts';
import type { AcceptPublish } from '../../../transports/push-api/endpoints/backend/publish.ts';
import type { InstanceGateways } from '../push/instance-gateways.ts';
import type { LivePushes } from '../push/live-pushes.ts';
import { UnusableSetting } from '../push/setting-files.ts';
import { type CountedDraft, countAudience } from './audience-count.ts';
import { type AskedGateway, askGateway } from './gateway-check.ts';
import { gatewayRequests } from './gateway-requests.ts';

/** The limit of users to ask in a preview. */
const USERS_ASKED_MAX = 100;

/** The limit of audiences counted concurrently, for all callers together. Each count reads up to 10,000 devices. */
const COUNTS_AT_ONCE = 2;

/** The limit of instances whose gateways are checked concurrently. */
const CHECKS_AT_ONCE = 8;

export interface ComposerOptions {
  readonly instances: InstanceDirectory;
  readonly audience: AudienceSource;
  readonly caps: CapUses;
  readonly accept: AcceptPublish;
  readonly gateways: Pick<InstanceGateways, 'byNumber' | 'openTrial'>;
  readonly live: Pick<LivePushes, 'rulesOf' | 'preview'>;
  readonly timers: Timers;
}

/** Shows operators what a publish would do, and sends it as the push API does. */
export class Composer implements Composing {
  private readonly options: ComposerOptions;
  private counting = 0;
  /** The instances whose gateways are being checked. */
  private readonly checking = new Set<number>();

  constructor(options: ComposerOptions) {
    this.options = options;
  }

  async preview(settings: InstanceSettings, { kind, fields, body }: Draft): Promise<Preview> {
    const nowMs = this.options.timers.now();
    const instance = this.instance(settings.id);
    const draft = readDraft(kind, fields, {
      instanceId: settings.id,
      declarative: settings.web?.declarative,
      nowMs,
      bodyBytes: body.length,
      liveRules: this.options.live.rulesOf(instance),
    });
    const { faults, target, payloads, texts, sendAtMs, live } = draft;
    return {
      faults: faults.map(({ field, reason }) => ({ field, rule: reason })),
      requests: gatewayRequests(payloads, { instance: settings, texts, nowMs }),
      audience:
        target && (await this.count(instance, { ...draft, target, dueAtMs: sendAtMs ?? nowMs })),
      live: live && target && (await this.askLive(instance, live, target.names)),
    };
  }

  /** Who would answer now; `undefined` if that cannot be known. */
  private async askLive(
    instance: PushInstance,
    live: LiveRequest,
    names: readonly string[],
  ): Promise<Preview['live']> {
    const asked = names.slice(0, USERS_ASKED_MAX);
    const result = await this.options.live.preview(instance, live, asked).catch(() => undefined);
    if (result === undefined || 'skipped' in result) return undefined;
    const countOf = (wanted: LiveUserState) =>
      result.users.filter(({ state }) => state === wanted).length;
    return {
      asked: asked.length,
      reached: countOf('reached'),
      silent: countOf('silent'),
      absent: countOf('absent'),
    };
  }

  async publish(
    id: string,
    { kind, body }: Draft,
    idempotencyKey: string | undefined,
  ): Promise<string> {
    const accepted = await this.options.accept(this.instance(id), { kind, body, idempotencyKey });
    if (!(accepted instanceof PushRefusal)) return accepted;
    const { problem, description } = accepted;
    // Error texts of the push API begin with the name of the field.
    const [, field] = /^`([^`]+)`: /.exec(description) ?? [];
    const words = description.replace(/^`([^`]+)`: /, '$1: ');
    throw new OperationRefused(refusals[problem] ?? 'invalid', words, field);
  }

  async check(
    settings: InstanceSettings,
    { platform, isTrial }: { readonly platform: Platform; readonly isTrial: boolean },
  ): Promise<readonly CredentialAnswer[]> {
    const { gateways, timers } = this.options;
    const { number } = this.instance(settings.id);
    if (this.checking.size >= CHECKS_AT_ONCE || this.checking.has(number)) {
      throw new OperationRefused('over-limit', 'Another gateway is being asked; try again soon');
    }
    this.checking.add(number);
    try {
      const gateway = isTrial
        ? openTrial(gateways, platform, settings)
        : (gateways.byNumber(number)?.gateways[platform] as AnyGateway | undefined);
      if (gateway === undefined) {
        throw new OperationRefused('conflict', `The instance has no credential for ${platform}`);
      }
      await using parts = new AsyncDisposableStack();
      if (isTrial) parts.use(gateway);
      return (await askGateway(gateway, settings, timers)).map(answerOf);
    } finally {
      this.checking.delete(number);
    }
  }

  private instance(id: string): PushInstance {
    const instance = this.options.instances.byId(id);
    if (instance === undefined)
      throw new OperationRefused('not-found', `There is no instance ${id}`);
    return instance;
  }

  private async count(instance: PushInstance, draft: CountedDraft): Promise<CountedAudience> {
    if (this.counting >= COUNTS_AT_ONCE) {
      throw new OperationRefused('over-limit', 'Other audiences are being counted; try again soon');
    }
    this.counting++;
    try {
      return await countAudience(this.options, instance, draft);
    } finally {
      this.counting--;
    }
  }
}

function openTrial(
  gateways: Pick<InstanceGateways, 'openTrial'>,
  platform: Platform,
  settings: InstanceSettings,
): AnyGateway | undefined {
  try {
    return gateways.openTrial(platform, settings);
  } catch (error) {
    const field = error instanceof UnusableSetting ? error.setting : platform;
    const why = messageOf(error);
    throw new OperationRefused('invalid', `${field}: ${why}`, field);
  }
}

function answerOf({ origin, outcome, durationMs }: AskedGateway): CredentialAnswer {
  const about = { origin, durationMs };
  if (outcome.result === 'accepted') {
    return { ...about, result: 'accepted', reason: '', words: '' };
  }
  const { reason } = outcome;
  const words = 'words' in outcome ? outcome.words : '';
  if (outcome.result === 'not-authorised' || reason === NO_PROJECT) {
    return { ...about, result: 'refused', reason, words };
  }
  // A gateway that refuses the device has accepted the credential.
  const isSilent = outcome.result === 'try-again' || NOT_SENT.includes(reason);
  return { ...about, result: isSilent ? 'silent' : 'accepted', reason, words };
}

/**
 * FCM's answer if it does not know the project of the service account. For an unknown device it would be
 * UNREGISTERED.
 */
const NO_PROJECT = 'NOT_FOUND';

/** The reasons of results without a send. */
const NOT_SENT: readonly string[] = ['address-not-allowed', 'host-not-allowed'];

/** How refusals of the push API appear in the admin API. */
const refusals: Partial<Record<PushRefusal['problem'], RefusalCode>> = {
  'over-plan': 'conflict',
  'rate-limited': 'over-limit',
  store: 'unavailable',
};
