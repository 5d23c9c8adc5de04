/** The longest name of an interest, in characters. Source: seed, "Limits"; push protocol, §2.3. */
export const INTEREST_LENGTH_MAX = 164;

/** The Ruby library allows `:`; the specification does not. */
const INTEREST = /^[A-Za-z0-9_\-=@,.;]+$/;

/** Whether a text is a valid name of an interest. */
export function isInterest(text: string): boolean {
  return text.length <= INTEREST_LENGTH_MAX && INTEREST.test(text);
}
