/** Why a request to the push side is not done. Each has one status and one title; see the push API. */
export type PushProblem =
  /** The body is of another content type than JSON. */
  | 'content-type'
  /** The instance id or the Authorization header is missing. */
  | 'incomplete'
  /** A body, path or query of a backend or a report breaks a rule. */
  | 'bad-request'
  /** The same in a request of a device. */
  | 'bad-device-request'
  | 'bad-interest'
  | 'too-many-interests'
  | 'unauthorized'
  | 'forbidden'
  | 'over-plan'
  /** The instance has as many devices, or its devices as many interests, as its limits allow. */
  | 'instance-full'
  | 'instance-not-found'
  | 'device-not-found'
  | 'publish-not-found'
  | 'not-found'
  | 'wrong-method'
  /** The body is JSON, but breaks a rule of its schema. */
  | 'unprocessable'
  | 'rate-limited'
  | 'timeout'
  | 'head-too-large'
  /** The store cannot be asked now. */
  | 'store'
  | 'internal';

/** Something that is not done, and why: `description` names the field and the rule. */
export class PushRefusal {
  readonly problem: PushProblem;
  readonly description: string;
  /** Seconds after which it is worth trying again. */
  readonly retryAfterSeconds: number | undefined;

  constructor(problem: PushProblem, description: string, retryAfterSeconds?: number) {
    this.problem = problem;
    this.description = description;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** What is wrong with one field. */
export class FieldFault {
  /** Its path in the body, for example `web.notification.title`. */
  readonly field: string;
  /** The rule that is broken, for example `must be a string`. It holds nothing secret. */
  readonly reason: string;

  constructor(field: string, reason: string) {
    this.field = field;
    this.reason = reason;
  }
}

/** Refuses a request for one field, in the form that the hosted service uses. Source: push protocol, §2.2. */
export function refuseField(problem: PushProblem, { field, reason }: FieldFault): PushRefusal {
  return new PushRefusal(problem, `\`${field}\`: ${reason}`);
}
