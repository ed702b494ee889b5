import CPinctlBuild
import PinctlCommands

await Pinctl.main(commit: CBuild_commit)
