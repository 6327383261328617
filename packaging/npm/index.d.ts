/** How the emulator starts. */
export interface StartOptions {
  /** The name of the account. The default is `devstoreaccount1`. */
  account?: string;
  /** The account's key in base64. The default is the well-known key of `devstoreaccount1`. */
  key?: string;
  /** The port. The default 0 selects a free one. */
  port?: number;
  /** The folder that keeps the tables. The default is memory. */
  data?: string;
  /** The token that the control API and the page require. The default is none. */
  controlToken?: string;
  /** More options of the command `azure-table-emulator`. */
  args?: string[];
  /** More environment variables of the emulator. */
  env?: Record<string, string>;
  /** The longest wait for the start, in milliseconds. The default is 30,000. */
  timeout?: number;
}

/** A row in the JSON form of the service, for example `{ PartitionKey: "p", RowKey: "r", Rating: 3 }`. */
export type Row = Record<string, unknown>;

/** A fault, such as `{ fault: "busy", on: "Insert", times: 2 }`. The guide of the control API lists them. */
export type Fault = { fault: string } & Record<string, unknown>;

/** A change of the clock: a shift in seconds, or a time at which it continues or stands still. */
export type ClockChange = ({ shift: number } | { set: string } | { freeze: string | true }) & { check_dates?: boolean };

/** A running emulator. It ends with this process at the latest. */
export interface Emulator {
  /** The endpoint of the account, such as `http://127.0.0.1:10002/devstoreaccount1`. */
  readonly url: string;
  readonly connectionString: string;
  readonly account: string;
  readonly key: string;
  /** Stores tables with their rows, `{ Orders: [row] }`, or rows of the given table. Existing rows are replaced. */
  seed(rows: Record<string, Row[]> | Row | Row[], options?: { table?: string }): Promise<void>;
  /** Removes all tables, or one. `faults` also removes the faults and resets the clock, `requests` forgets the requests. */
  reset(options?: { table?: string; faults?: boolean; requests?: boolean }): Promise<void>;
  /** Adds a fault, an array of faults, or a plan with a seed. */
  fault(plan: Fault | Fault[] | { seed?: number; faults: Fault[] }): Promise<void>;
  /** Changes the clock of the service. `reset({ faults: true })` resets it. */
  clock(change: ClockChange): Promise<void>;
  /** Stops the emulator after the requests in flight. */
  stop(): Promise<void>;
}

/** Starts the emulator, and resolves once it accepts requests. */
export function start(options?: StartOptions): Promise<Emulator>;

/** The path of the program. */
export function binaryPath(): string;
