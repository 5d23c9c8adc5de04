import type { CountedAudience } from '../../../admin/push/composing.ts';
import { audiencePages } from '../../../push/audience.ts';
import type { AudienceSource } from '../../../push/audience-source.ts';
import type { CapUses } from '../../../push/cap-uses.ts';
import { DueTimes } from '../../../push/delivering/due-times.ts';
import type { StoredPublish } from '../../../push/delivering/stored-publish.ts';
import { byPlatform, type Recipient } from '../../../push/model/device.ts';
import type { PushInstance } from '../../../push/model/instance.ts';
import { findLanguage } from '../../../push/model/texts.ts';
import { reaches } from '../../../push/model/token-kind.ts';
import { isShownOn } from '../../../push/payloads/shown.ts';

/** Counting stops at this number: nobody needs the exact one before sending. */
const DEVICES_MAX = 10_000;
const PAGE_DEVICES = 1_000;

/** A publish whose devices are counted. */
export interface CountedDraft extends StoredPublish {
  /** When the first devices are due. */
  readonly dueAtMs: number;
}

interface Sources {
  readonly audience: AudienceSource;
  readonly caps: CapUses;
}

/** Counts the devices of a publish as they are now: who would get it when, and who would not. */
export async function countAudience(
  { audience, caps }: Sources,
  instance: PushInstance,
  draft: CountedDraft,
): Promise<CountedAudience> {
  const count = new Count(draft, new DueTimes(draft, draft, instance));
  let read = 0;
  const { target } = draft;
  const query = { instance: instance.number, target, after: 0, pageDevices: PAGE_DEVICES };
  for await (const { recipients } of audiencePages(audience, query)) {
    // Reading one page more shows whether there are more devices.
    if (read >= DEVICES_MAX) return count.result(true);
    // Deleted devices cost work, so they count towards the limit, but not as part of the audience.
    read += PAGE_DEVICES;
    await count.add(recipients, caps);
  }
  return count.result(false);
}

class Count {
  private readonly draft: CountedDraft;
  private readonly dueTimes: DueTimes;
  private readonly platforms = byPlatform(() => 0);
  private readonly counts = { devices: 0, later: 0, quiet: 0, overCap: 0, tooLate: 0 };
  /** Devices by the language of their text. */
  private readonly languages = new Map<string, number>();

  constructor(draft: CountedDraft, dueTimes: DueTimes) {
    this.draft = draft;
    this.dueTimes = dueTimes;
  }

  async add(all: readonly Recipient[], caps: CapUses): Promise<void> {
    const { draft, dueTimes } = this;
    // Tokens of another kind get nothing of it.
    const recipients = all.filter(
      ({ platform, kind }) => platform !== 'apns' || reaches(draft.payloads.apns?.kind, kind),
    );
    const cap = dueTimes.capOf(recipients, draft.dueAtMs);
    const full = cap && (await caps.full(cap));
    for (const recipient of recipients) {
      if (full?.has(recipient.number)) this.counts.overCap++;
      else this.addOne(recipient);
    }
  }

  private addOne(recipient: Recipient): void {
    const { counts, draft, dueTimes, languages } = this;
    const due = dueTimes.of(recipient, draft.dueAtMs);
    if (due.what === 'too-late') {
      counts.tooLate++;
      return;
    }
    counts.devices++;
    this.platforms[recipient.platform]++;
    if (due.atMs > draft.dueAtMs) counts.later++;
    if (due.isQuiet) counts.quiet++;
    if (draft.texts === undefined || !isShownOn(draft.payloads, recipient.platform)) return;
    const language = findLanguage(draft.texts, recipient.preferences?.language);
    if (language !== undefined) languages.set(language, (languages.get(language) ?? 0) + 1);
  }

  result(more: boolean): CountedAudience {
    const languages = [...this.languages].map(([language, devices]) => ({ language, devices }));
    return { ...this.counts, platforms: this.platforms, languages, more };
  }
}
