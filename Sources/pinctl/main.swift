import CBuild
import PinctlCommands

await Pinctl.main(commit: PINCTL_COMMIT)
