/** The HTTP status of each refusal. */
const statuses = {
  invalid: 400,
  'not-logged-in': 401,
  forbidden: 403,
  'not-found': 404,
  conflict: 409,
  'too-large': 413,
  'over-limit': 429,
  unavailable: 503,
} as const;

export type RefusalCode = keyof typeof statuses;

/** Why an operation was refused. The message is for the caller. Anything else that is thrown is a bug. */
export class OperationRefused extends Error {
  override readonly name = 'OperationRefused';
  readonly status: number;
  /** The invalid field of the request, for example `limits.connections`. */
  readonly field: string | undefined;

  constructor(code: RefusalCode, message: string, field?: string) {
    super(message);
    this.status = statusOf(code);
    this.field = field;
  }
}

export function statusOf(code: RefusalCode): number {
  return statuses[code];
}
