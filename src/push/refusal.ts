/** Why a request to the push API is refused. Its table of problems gives each one a status and a title. */
export type PushProblem =
  /** The content type of the body is not JSON. */
  | 'content-type'
  /** The instance id or the Authorization header is missing. */
  | 'incomplete'
  /** The body, path or query of a backend's request or of a report breaks a rule. */
  | 'bad-request'
  /** The body, path or query of another request of a device breaks a rule. */
  | 'bad-device-request'
  | 'bad-interest'
  | 'too-many-interests'
  | 'unauthorized'
  | 'forbidden'
  | 'over-plan'
  /** The instance has reached its limit of devices or interests. */
  | 'instance-full'
  | 'instance-not-found'
  | 'device-not-found'
  | 'publish-not-found'
  | 'not-found'
  | 'wrong-method'
  /** The body is JSON but breaks a rule of its schema. */
  | 'unprocessable'
  | 'rate-limited'
  | 'timeout'
  | 'head-too-large'
  /** A vendor has refused what only it can do, or does not answer. */
  | 'bad-gateway'
  /** The store cannot be used now. */
  | 'store'
  | 'internal';

/** A refused request. `description` names the field and the rule. */
export class PushRefusal {
  readonly problem: PushProblem;
  readonly description: string;
  /** When to try again. */
  readonly retryAfterSeconds: number | undefined;

  constructor(problem: PushProblem, description: string, retryAfterSeconds?: number) {
    this.problem = problem;
    this.description = description;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** A field that breaks a rule. */
export class FieldFault {
  /** The path of the field in the body, for example `web.notification.title`. */
  readonly field: string;
  /** The rule, for example `must be a string`. Holds nothing secret. */
  readonly reason: string;

  constructor(field: string, reason: string) {
    this.field = field;
    this.reason = reason;
  }
}

/** Refuses a request because of one field, in the words of the hosted service. Source: push protocol, §2.2. */
export function refuseField(problem: PushProblem, { field, reason }: FieldFault): PushRefusal {
  return new PushRefusal(problem, `\`${field}\`: ${reason}`);
}
