import type { DeviceId, DeviceToken, NewDevice, Platform } from './model/device.ts';
import type { Preferences } from './model/preferences.ts';

/** Stores devices that a backend brings, and gives them out. Methods reject as those of `DeviceStore` do. */
export interface DeviceMoves {
  /**
   * Stores the rows in one commit, and returns what became of each, in their order. A device that an SDK has registered
   * stays as it is. No token is there twice.
   */
  importRows(request: ImportRequest): Promise<readonly ImportResult[]>;
  /** Devices in the order of their registration, with their tokens. */
  exportRows(range: ExportRange): Promise<ExportPage>;
  /** The devices of an import that no SDK has registered since. */
  countImport(named: NamedImport): Promise<ImportCounts>;
  /** Removes up to `max` of them. */
  undoImport(named: NamedImport & { readonly max: number }): Promise<UndoneImport>;
}

export interface NamedImport {
  readonly instance: number;
  readonly name: string;
}

/** A device of an import. */
export interface ImportRow
  extends DeviceToken,
    Pick<NewDevice, 'bundleId' | 'kind'>,
    Omit<Preferences, 'quietHours'> {
  readonly platform: Platform;
  readonly userId: string | undefined;
  readonly interests: readonly string[];
}

export interface ImportRequest extends NamedImport {
  readonly rows: readonly ImportRow[];
  /** Decides what would become of each row, and writes nothing. */
  readonly isDryRun: boolean;
  /** Limits of the instance; 0: none. */
  readonly devicesMax: number;
  readonly interestsMax: number;
  readonly nowMs: number;
}

export type ImportResult =
  | {
      readonly status: 'created' | 'updated' | 'unchanged';
      /** `undefined`: a dry run makes no device. */
      readonly id: DeviceId | undefined;
    }
  /** Why there is no room. */
  | { readonly status: 'refused'; readonly why: 'instance-full' | 'user-full' | 'host-full' };

export interface ExportRange {
  readonly instance: number;
  /** The number of a device; 0: from the first. */
  readonly after: number;
  readonly limit: number;
}

export interface ExportedDevice extends ImportRow {
  readonly id: DeviceId;
  readonly registeredAtMs: number;
  /** The import that it is of; `undefined`: an SDK has registered it. */
  readonly origin: string | undefined;
}

export interface ExportPage {
  readonly devices: readonly ExportedDevice[];
  /** Where the next page begins; `undefined`: there is none. */
  readonly next: number | undefined;
}

export interface ImportCounts {
  readonly devices: number;
  /** Those whose token a gateway has accepted. */
  readonly accepted: number;
  readonly platforms: Readonly<Record<Platform, number>>;
}

export interface UndoneImport {
  readonly removed: number;
  readonly more: boolean;
}
