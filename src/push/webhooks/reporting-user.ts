/**
 * The user that a webhook may name for a report, if any. Reports are not authenticated, so only the user of the device
 * counts, and a report that names another user is ignored. Source: push protocol, §3.8.
 */
export function reportingUser(
  reported: string | undefined,
  ofDevice: string | undefined,
): string | undefined {
  return reported === undefined || reported === ofDevice ? ofDevice : undefined;
}
