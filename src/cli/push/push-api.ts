import { z } from 'zod';
import { printable } from '../../runtime/logging/printable.ts';
import { type ServerAddress, shownAddress } from '../server-address.ts';
import { requestServer } from '../server-request.ts';
import type { InstanceKey } from '../tenants/instance-keys.ts';

/** The body of an error. */
const errorBody = z.object({
  error: z.string().transform(printable),
  description: z.string().transform(printable),
});

export type PushResponse =
  | { readonly result: 'ok'; readonly body: unknown }
  /** The instance does not have what was asked for. */
  | { readonly result: 'not-found'; readonly error: string; readonly description: string }
  /** The instance does not have this secret key. */
  | { readonly result: 'unauthorised' };

export interface PushApiOptions {
  readonly address: ServerAddress;
  /** Whether the server is on this machine. Its certificate is then not checked, since nobody can be in between. */
  readonly isLocal: boolean;
}

/** A client of the push API of a running server, in the role of a backend. */
export class PushApi {
  /** The URL without secrets, for messages. */
  readonly shown: string;
  private readonly options: PushApiOptions;

  constructor(options: PushApiOptions) {
    this.options = options;
    this.shown = shownAddress(options.address);
  }

  /** Reads something of an instance. Throws `Unreachable`, or an error for a response that cannot be used. */
  async get({ id, secretKey }: InstanceKey, path: string): Promise<PushResponse> {
    const { address, isLocal } = this.options;
    const { url, unix, hint } = address;
    const { ok, status, body } = await requestServer(
      `${url}/publish_api/v1/instances/${id}${path}`,
      {
        headers: { authorization: `Bearer ${secretKey}` },
        // The certificate has the public name of the server, not that of this machine.
        ...(isLocal ? { tls: { rejectUnauthorized: false } } : {}),
        ...(unix === undefined ? {} : { unix }),
        shown: this.shown,
        hint,
      },
    );
    if (ok && body !== undefined) return { result: 'ok', body };
    const refused = errorBody.safeParse(body);
    if (!refused.success) {
      throw new Error(`${this.shown} is not a push API of Fanfare: it answers ${status}`);
    }
    const { error, description } = refused.data;
    if (status === 401) return { result: 'unauthorised' };
    // A path that the server does not know is "Not found" without saying what.
    if (status === 404 && error !== 'Not found') return { result: 'not-found', error, description };
    throw new Error(`${this.shown} answers ${status}: ${error}: ${description}`);
  }
}
