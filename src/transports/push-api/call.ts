import type { PushRefusal } from '../../push/refusal.ts';
import type { EndpointName, PathParams } from './routes.ts';

/** What is known of a request before its body has come. */
export interface PushHead {
  /** As it was sent; `HEAD` runs the endpoint of `GET`. */
  readonly method: string;
  /** As it was sent, without the query. It may hold ids that belong in no log. */
  readonly path: string;
  readonly params: PathParams;
  readonly query: URLSearchParams;
  /** Of the client, as far as it is known: that of a proxy which the server was not told to trust, where there is one. */
  readonly address: string;
  /** What limits by address count the client under. */
  readonly addressKey: string;
  /** `name` in lower case. */
  header(name: string): string | undefined;
}

/** A whole request. */
export interface PushCall extends PushHead {
  /** At most as long as `bodyBytesMax` has it; empty where there was none, whatever its content type. */
  readonly body: Uint8Array;
}

export type PushAnswer =
  | PushRefusal
  /** 200 with a JSON text, which gets a line's end. */
  | { readonly json: string }
  /** 200 without a body. */
  | { readonly empty: true }
  /** 200 with a text of another type. */
  | {
      readonly text: string;
      readonly contentType: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

/** A request whose head has a secret key of an instance. */
export interface Trusted {
  /** The number of the instance. */
  readonly instance: number;
}

/**
 * One thing that can be asked of this API.
 *
 * Its promises settle: nobody here counts the seconds. What it throws is answered with 500 and logged. Descriptions of refusals are logged as well: they hold no
 * secret, token or device id.
 */
export interface Endpoint {
  /** What the head alone is refused for, in the order of checks, or who is behind it. The body is not read before. */
  before?(head: PushHead): PushRefusal | Trusted | undefined;
  /** What a request with a body is refused for before that is read. It may ask the store. */
  beforeBody?(head: PushHead): Promise<PushRefusal | undefined>;
  answer(call: PushCall): PushAnswer | Promise<PushAnswer>;
}

export type Endpoints = Readonly<Record<EndpointName, Endpoint>>;

/** Bytes of a body that cost as much as another small request. */
const BYTES_PER_COST = 4096;

/** What it costs to answer a request, in about tenths of a millisecond. */
export function costOf(bodyBytes: number): number {
  return 1 + Math.floor(bodyBytes / BYTES_PER_COST);
}

const KIB = 1024;

/** How long a body may be; a longer one is refused. Source: the seed's "Limits"; those without one there are ours. */
export const bodyBytesMax: Readonly<Record<EndpointName, number>> = {
  publishToInterests: 10 * KIB,
  publishToUsers: 200 * KIB,
  readPublish: 16 * KIB,
  cancelPublish: 16 * KIB,
  readPauses: 16 * KIB,
  explainDevice: 16 * KIB,
  deleteUser: 16 * KIB,
  readVapidKey: 16 * KIB,
  registerDevice: 16 * KIB,
  readDevice: 16 * KIB,
  deleteDevice: 16 * KIB,
  setMetadata: 16 * KIB,
  setToken: 16 * KIB,
  setUser: 16 * KIB,
  readInterests: 16 * KIB,
  // 5,000 interests of 164 characters, and room for how they are written.
  setInterests: 1024 * KIB,
  addInterest: 16 * KIB,
  removeInterest: 16 * KIB,
  report: 16 * KIB,
  readServiceWorker: 16 * KIB,
};
