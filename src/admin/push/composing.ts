import type { InstanceSettings } from '../../config/schema.ts';
import type { Platform } from '../../push/model/device.ts';
import type { InstanceId } from '../../push/model/instance-id.ts';
import type { PublishTarget } from '../../push/model/publish.ts';
import type { JsonObject } from '../../runtime/json-object.ts';

/** A publish that an operator writes. */
export interface Draft {
  readonly kind: PublishTarget['kind'];
  readonly fields: JsonObject;
  /** The fields as JSON. */
  readonly body: Uint8Array;
}

/** What a gateway would get for one device. */
export interface GatewayRequest {
  readonly platform: Platform;
  /** The devices that get it, if they are not all of the platform. */
  readonly only: 'safari' | undefined;
  /** The language of the devices that get it; `undefined`: all that have no text of their own. */
  readonly language: string | undefined;
  /** Bytes that count towards the limit of the gateway. */
  readonly bytes: number;
  readonly bytesMax: number;
  readonly url: string;
  /** Placeholders replace the credential and the device. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** JSON text; of browsers, before it is encrypted. */
  readonly body: string;
}

/** The devices that it is for. */
export interface CountedAudience {
  /** Those that would get it, now or later. */
  readonly devices: number;
  readonly platforms: Readonly<Record<Platform, number>>;
  /** How many of them would get it later than the others, by their local time or after their quiet hours. */
  readonly later: number;
  /** How many of these wait for the end of their quiet hours. */
  readonly quiet: number;
  /** How many of them would get a text of their language. */
  readonly languages: readonly { readonly language: string; readonly devices: number }[];
  /** Those that would not get it, as they had all that the cap of the instance allows. */
  readonly overCap: number;
  /** Those that would not get it, as its time to live ends before their quiet hours do. */
  readonly tooLate: number;
  /** Whether there are more: counting stops at a limit. */
  readonly more: boolean;
}

export interface Preview {
  /** The rules that it breaks. */
  readonly faults: readonly { readonly field: string; readonly rule: string }[];
  readonly requests: readonly GatewayRequest[];
  /** `undefined` if it names no audience. */
  readonly audience: CountedAudience | undefined;
  /**
   * For up to 100 users of a publish with a live part; `undefined`: it has no live part, or the answer is unknown.
   */
  readonly live: AskedUserCounts | undefined;
}

/** What connections of users answered now. */
export interface AskedUserCounts {
  readonly asked: number;
  readonly reached: number;
  readonly silent: number;
  readonly absent: number;
}

/** A gateway's answer when a credential was checked. */
export interface CredentialAnswer {
  /** The push service of browsers. */
  readonly origin: string | undefined;
  /** silent: it did not answer, or has trouble of its own. */
  readonly result: 'accepted' | 'refused' | 'silent';
  readonly reason: string;
  readonly words: string;
  readonly durationMs: number;
}

/** Previews and sends publishes, and checks credentials. Throws `OperationRefused`. */
export interface Composing {
  preview(instance: InstanceSettings, draft: Draft): Promise<Preview>;
  /** Gives the id of the publish. */
  publish(id: InstanceId, draft: Draft, idempotencyKey: string | undefined): Promise<string>;
  /** Checks with a message that no device gets. `isTrial`: with these settings instead of those in use. */
  check(
    instance: InstanceSettings,
    asked: { readonly platform: Platform; readonly isTrial: boolean },
  ): Promise<readonly CredentialAnswer[]>;
}
