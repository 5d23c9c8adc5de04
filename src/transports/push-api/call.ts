import type { PushRefusal } from '../../push/refusal.ts';
import type { EndpointName, PathParams } from './routes.ts';

/** Who sent a request. */
export interface Client {
  /** The address of the client, or of the last proxy that `trustedProxies` does not name. */
  readonly address: string;
  /** The key under which limits by address count the client. */
  readonly addressKey: string;
}

/** What is known of a request before its body has arrived. */
export interface PushHead extends Client {
  /** As sent. `HEAD` runs the endpoint of `GET`. */
  readonly method: string;
  /** As sent, without the query. It may hold ids that must not be logged. */
  readonly path: string;
  readonly params: PathParams;
  readonly query: URLSearchParams;
  /** `name` in lower case. */
  header(name: string): string | undefined;
}

/** A whole request. */
export interface PushCall extends PushHead {
  /** At most `bodyBytesMax` bytes; empty if there is no body, whatever the content type. */
  readonly body: Uint8Array;
}

export type PushAnswer =
  | PushRefusal
  /** 200 with a JSON text. A newline is added. */
  | { readonly json: string }
  /** 200 without a body. */
  | { readonly empty: true }
  /** 200 with text of another type. */
  | {
      readonly text: string;
      readonly contentType: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

/** The sender of a request with a secret key of an instance. */
export interface Backend {
  /** The number of the instance. */
  readonly instance: number;
}

/**
 * One operation of this API.
 *
 * Its promises must settle: the caller sets no timeout. What it throws is logged and answered with 500. Descriptions of
 * refusals are logged, so they must hold no secret, token or device id.
 */
export interface PushEndpoint {
  /** Refuses a request by its head alone, or names the backend that sent it. Called before the body is read. */
  checkHead?(head: PushHead): PushRefusal | Backend | undefined;
  /** Refuses a request that has a body before the body is read. May ask the store. */
  checkBeforeBody?(head: PushHead): Promise<PushRefusal | undefined>;
  answer(call: PushCall): PushAnswer | Promise<PushAnswer>;
}

export type Endpoints = Readonly<Record<EndpointName, PushEndpoint>>;

/** Bytes of a body that cost as much as another small request. */
const BYTES_PER_COST = 4096;

/** The cost of answering a request, in units of about 0.1 ms. */
export function costOf(bodyBytes: number): number {
  return 1 + Math.floor(bodyBytes / BYTES_PER_COST);
}

const KIB = 1024;

const longBodies: Partial<Record<EndpointName, number>> = {
  publishToInterests: 10 * KIB,
  publishToUsers: 200 * KIB,
  // 5,000 interests of 164 characters, with JSON punctuation.
  setInterests: 1024 * KIB,
  importDevices: 4096 * KIB,
};

/** The longest body that any endpoint takes. */
export const LONGEST_BODY_BYTES = Math.max(...Object.values(longBodies));

/** The longest body of an endpoint. Source: the seed's "Limits" for publishes; the others are our own. */
export function bodyBytesMax(endpoint: EndpointName): number {
  return longBodies[endpoint] ?? 16 * KIB;
}
