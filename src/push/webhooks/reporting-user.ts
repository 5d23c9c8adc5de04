/**
 * Whose report it is; `undefined` where it is nobody's that may be told. Reports prove nothing of who sent them,
 * so only the user of the device counts, and a report that names another one is not believed. Source: push
 * protocol, §3.8.
 */
export function reportingUser(
  reported: string | undefined,
  ofDevice: string | undefined,
): string | undefined {
  return reported === undefined || reported === ofDevice ? ofDevice : undefined;
}
