/** Slow enough to leave most of what Google allows a project to other publishes. */
const PER_SECOND = 200;

/** The interest by which the devices of an import can be reached. */
export function interestOf(name: string): string {
  return `import-${name}`;
}

/** The publish that makes Google check the tokens of an interest, and that nobody sees. */
export function validationOf(interest: string): object {
  const fcm = { validate_only: true, data: { import: interest } };
  return { interests: [interest], perSecond: PER_SECOND, fcm };
}
