import type { Member, MembersPage, MembersQuery } from '../channels/ports.ts';

/** A member with its serial number in the channel, after which a page can begin. */
export type NumberedMember = readonly [number: number, member: Member];

/** Makes a page of members that are in the order of their numbers. Takes them only as far as it needs them. */
export function membersPage(
  members: Iterable<NumberedMember>,
  { after = '0', limit }: MembersQuery,
): MembersPage {
  const page: Member[] = [];
  let last = Number(after);
  for (const [number, member] of members) {
    if (number <= last) continue;
    if (page.length === limit) return { members: page, next: String(last) };
    page.push(member);
    last = number;
  }
  return { members: page, next: undefined };
}

/** Members that a newcomer is shown, and itself, if it is a member: last, if it is not among them. */
export function withNewcomer(shown: Member[], newcomer: Member | undefined): Member[] {
  if (newcomer !== undefined && !shown.some(({ userId }) => userId === newcomer.userId))
    shown.push(newcomer);
  return shown;
}
