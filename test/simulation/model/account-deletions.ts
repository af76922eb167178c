import { createRegister, done, type Effect, endsBy, type Register, type Write } from './register.ts';

/** A request to delete an account, and what it sets off, which ends some seconds later, in units of its own. */
export interface AccountDeletion {
  readonly account: string;
  readonly write: Write<boolean>;
  /** Names of which nobody was told whether the account has them. */
  readonly names: ReadonlySet<string>;
  /** Namespaces and webhooks that end with the account: of each what goes with it. Lists grow while it is under way. */
  readonly follows: (readonly Effect[])[];
  /** Records below `names`: gone if they were in a namespace of the account. */
  readonly perhaps: Effect[];
}

export interface AccountDeletions {
  begin(account: string, names: ReadonlySet<string>, from: number): AccountDeletion;
  /** Deletions that may not have ended yet: of one account, or of all. */
  underWay(account?: string): readonly AccountDeletion[];
  /** What was refused sets nothing off. */
  dropRefused(): void;
  /** All that was set off has ended. */
  settled(at: number): void;
  /** It was deleted, with all that it had. */
  isGone(account: string, at: number): boolean;
  /**
   * A backup was put back.
   * @param restored puts a register back
   * @returns accounts that were being deleted in the backup, as far as anybody knows: that goes on
   */
  restore(
    restored: (register: Register<boolean>) => void,
    backup: number,
    now: number,
  ): readonly AccountDeletion[];
}

export function createAccountDeletions(): AccountDeletions {
  const registers = new Map<string, Register<boolean>>();
  let underWay: AccountDeletion[] = [];

  function registerOf(account: string): Register<boolean> {
    const register = registers.get(account) ?? createRegister(false);
    registers.set(account, register);
    return register;
  }

  function add(account: string, write: Write<boolean>, names: ReadonlySet<string>): AccountDeletion {
    const made = { account, write, names, follows: [], perhaps: [] };
    underWay.push(made);
    return made;
  }

  return {
    begin: (account, names, from) => add(account, registerOf(account).begin(true, from), names),
    underWay: (account) => underWay.filter((each) => account === undefined || each.account === account),
    dropRefused() {
      for (const { write, follows, perhaps } of underWay) {
        if (write.isVoid) for (const effect of [...follows.flat(), ...perhaps]) effect.write.isVoid = true;
      }
      underWay = underWay.filter(({ write }) => !write.isVoid);
    },
    settled(at) {
      for (const { write, follows, perhaps } of underWay) {
        const end = write.isCertain ? done : endsBy;
        for (const effect of follows.flat()) end(effect.write, at);
        for (const effect of perhaps) endsBy(effect.write, at);
      }
      underWay = [];
    },
    isGone(account, at) {
      const isEnding = underWay.some((each) => each.account === account);
      return (
        !isEnding &&
        registerOf(account)
          .possible(at)
          .every(({ value }) => value)
      );
    },
    restore(restored, backup, now) {
      const before = underWay.filter(({ write }) => write.from <= backup);
      // The processes that deleted are gone. A request that is on its way reaches the next ones.
      for (const { write, follows, perhaps } of underWay)
        if (write.isCertain)
          for (const effect of [...follows.flat(), ...perhaps]) endsBy(effect.write, now - 1);
      underWay = [];
      for (const register of registers.values()) restored(register);
      return before.map(({ account, write, names }) => {
        const again = createRegister(false).begin(true, now);
        if (write.isCertain && write.to <= backup) done(again, now);
        else endsBy(again, now);
        return add(account, again, names);
      });
    },
  };
}
