/** Characters of an interest's name. Source: seed, "Limits"; push protocol, §2.3. */
export const INTEREST_LENGTH_MAX = 164;

/** Ruby's library lets `:` through; the specification does not. */
const INTEREST = /^[A-Za-z0-9_\-=@,.;]+$/;

/** Whether a text can be the name of an interest. */
export function isInterest(text: string): boolean {
  return text.length <= INTEREST_LENGTH_MAX && INTEREST.test(text);
}
