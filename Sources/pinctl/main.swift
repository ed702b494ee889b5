import PinctlCommands

await Pinctl.main()
