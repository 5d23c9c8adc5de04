/** The name of a client event does not begin with `client-`. */
export class BadEventName extends Error {}

/** Nobody can subscribe to a channel of this name. */
export class BadChannelName extends Error {}

/** This kind of channel cannot do that. */
export class UnsupportedFeature extends Error {}

/** A backend did not authorise. */
export class HTTPAuthError extends Error {
  /** 0: there was no answer. */
  declare status: number;

  constructor(status: number, message?: string) {
    super(message);
    this.status = status;
  }
}

/** What the events about a failed authorisation carry. */
export interface AuthErrorData {
  readonly type: 'AuthError';
  readonly error: string;
  readonly status?: number;
}

export function authErrorData(error: Error): AuthErrorData {
  const data = { type: 'AuthError', error: error.message } as const;
  return error instanceof HTTPAuthError ? { ...data, status: error.status } : data;
}
