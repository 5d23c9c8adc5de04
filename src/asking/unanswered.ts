/**
 * Why a question has no answer. `unavailable`: who was asked did not answer, or could not; `over-limit`: too many questions
 * are open. The message is for operators.
 */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';
  readonly code: 'unavailable' | 'over-limit';

  constructor(code: Unanswered['code'], why: string) {
    super(why);
    this.code = code;
  }
}
