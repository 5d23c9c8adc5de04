/** Leaves out what looks like a signature in a reason: a client may have sent one that is valid for something else. */
export function unsigned(reason: string): string {
  return reason.replace(/, but got .*$/s, '').replace(/[0-9a-f]{64}/gi, '(signature)');
}
