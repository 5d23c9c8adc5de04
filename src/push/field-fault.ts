import { type PushProblem, Refusal } from './refusal.ts';

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
export function refuseField(problem: PushProblem, { field, reason }: FieldFault): Refusal {
  return new Refusal(problem, `\`${field}\`: ${reason}`);
}
