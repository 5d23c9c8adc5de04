/** Servers whose questions and answers have another form do not answer each other. Changes with every form of them. */
export const FORM = 2;

/** What a server says to all others when it begins to stop, so that nobody misses it. */
export function stoppingWord(node: string): string {
  return JSON.stringify({ type: 'stopping', form: FORM, node });
}
