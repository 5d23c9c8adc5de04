import type { TokenKind } from './token-kind.ts';

export type ApnsPriority = 10 | 5 | 1;

/** What Apple asks of the notifications of a push type. Source: Apple, "Sending notification requests to APNs". */
export interface PushTypeRules {
  /** The topic is the bundle id with this suffix. */
  readonly suffix: string;
  readonly priorities: readonly ApnsPriority[];
  /** The priority without one in the publish; `undefined`: none is sent, which Apple takes for 10. */
  readonly priority: ApnsPriority | undefined;
  /** The expiration without one in the publish. 0: Apple delivers at once or never. */
  readonly expirationSeconds: 0 | undefined;
  readonly bytesMax: number;
  /** Whether `aps` may be missing. */
  readonly isApsOptional: boolean;
}

const BYTES_MAX = 4096;
const VOIP_BYTES_MAX = 5120;

const usual = {
  priorities: [10, 5, 1],
  priority: 10,
  expirationSeconds: undefined,
  bytesMax: BYTES_MAX,
  isApsOptional: true,
} as const;

/** A call must ring now. */
const call = { ...usual, priorities: [10], expirationSeconds: 0 } as const;

export const pushTypes = {
  alert: { ...usual, suffix: '', priority: undefined, isApsOptional: false },
  background: { ...usual, suffix: '', priorities: [5, 1], priority: 5, isApsOptional: false },
  liveactivity: {
    ...usual,
    suffix: '.push-type.liveactivity',
    priorities: [10, 5],
    isApsOptional: false,
  },
  voip: { ...call, suffix: '.voip', bytesMax: VOIP_BYTES_MAX },
  pushtotalk: { ...call, suffix: '.voip-ptt' },
  widgets: { ...usual, suffix: '.push-type.widgets' },
  controls: { ...usual, suffix: '.push-type.controls' },
  complication: { ...usual, suffix: '.complication' },
  location: { ...usual, suffix: '.location-query', priorities: [10, 5] },
  fileprovider: { ...usual, suffix: '.pushkit.fileprovider' },
} as const satisfies Readonly<Record<string, PushTypeRules>>;

export type ApnsPushType = keyof typeof pushTypes;

/** A type that devices get by a further token. */
export type FurtherPushType = Exclude<ApnsPushType, 'alert' | 'background'>;

export const pushTypeNames = Object.keys(pushTypes) as readonly ApnsPushType[];

export function isFurther(type: ApnsPushType | undefined): type is FurtherPushType {
  return type !== undefined && type !== 'alert' && type !== 'background';
}

/** The topic of a type, for an app. A bundle id that has the suffix already does not get it twice. */
export function topicOf(bundleId: string, type: ApnsPushType): string {
  const { suffix } = pushTypes[type];
  return bundleId.endsWith(suffix) ? bundleId : bundleId + suffix;
}

/** The kind of the tokens that a publish is for; `undefined`: ordinary ones. */
export function kindFor(type: ApnsPushType | undefined, event: unknown): TokenKind | undefined {
  if (!isFurther(type)) return undefined;
  return type === 'liveactivity' && event === 'start' ? 'liveactivity-start' : type;
}

/** The push type of a publish, and the kind of the tokens that it is for. */
export interface ApnsAudience {
  readonly type: ApnsPushType;
  /** `undefined`: ordinary tokens. */
  readonly kind: TokenKind | undefined;
}

/** `undefined`: it is an alert. */
export function apnsAudience(
  type: ApnsPushType | undefined,
  aps: Readonly<Record<string, unknown>>,
): ApnsAudience | undefined {
  const sent = type ?? (isShown(aps) ? 'alert' : 'background');
  return sent === 'alert' ? undefined : { type: sent, kind: kindFor(type, aps['event']) };
}

export function isPushType(value: unknown): value is ApnsPushType {
  return (pushTypeNames as readonly unknown[]).includes(value);
}

/** Whether the notification of an app's ordinary token is seen or heard. */
export function isShown(aps: Readonly<Record<string, unknown>>): boolean {
  return ['alert', 'badge', 'sound'].some((name) => aps[name] !== undefined);
}
